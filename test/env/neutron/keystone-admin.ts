/** An application credential, and whose it is. */
export interface ApplicationCredential {
  readonly id: string;
  readonly secret: string;
}

/** What is asked of Keystone (Identity API v3) to set up a cloud, and to play tricks on its users. */
export class KeystoneAdmin {
  readonly #url: string;
  readonly #password: string;
  #token = '';

  /** `url` ends in `/v3`; the password is the bootstrapped user admin's. */
  constructor(url: string, password: string) {
    this.#url = url;
    this.#password = password;
  }

  async logIn(): Promise<void> {
    const user = { name: 'admin', domain: { id: 'default' }, password: this.#password };
    const scope = { project: { name: 'admin', domain: { id: 'default' } } };
    this.#token = await this.#logInAs(user, scope);
  }

  /** A user of a project of its own, with the role there. */
  async createUser(name: string, password: string, ...roles: readonly string[]): Promise<User> {
    const projectName = name === 'neutron' ? 'service' : name;
    const project = await this.#create('project', { name: projectName, domain_id: 'default' });
    const user = await this.#create('user', { name, password, domain_id: 'default' });
    const all = await this.#call('GET', '/roles');
    for (const role of recordsIn(all, 'roles').filter((r) => roles.includes(String(r.name)))) {
      await this.#call('PUT', `/projects/${project}/users/${user}/roles/${role.id}`);
    }
    return { id: user, password, project };
  }

  /** Names the service's public address in the catalog. */
  async addEndpoint(type: string, url: string, region: string): Promise<void> {
    const services = recordsIn(await this.#call('GET', `/services?type=${type}`), 'services');
    const service = services[0]?.id ?? (await this.#create('service', { type, name: type }));
    await this.#create('endpoint', { interface: 'public', region_id: region, url, service_id: service });
  }

  async addRegion(id: string): Promise<void> {
    await this.#create('region', { id });
  }

  tokenOf({ id, password, project }: User): Promise<string> {
    return this.#logInAs({ id, password }, { project: { id: project } });
  }

  /** As the user would by `openstack application credential create`. */
  async createApplicationCredential(user: User, name: string): Promise<ApplicationCredential> {
    const token = await this.tokenOf(user);
    const path = `/users/${user.id}/application_credentials`;
    const body = { application_credential: { name } };
    const [credential] = recordsIn(await this.#call('POST', path, body, token), 'application_credential');
    return { id: String(credential?.id), secret: String(credential?.secret) };
  }

  async #create(kind: string, item: object): Promise<string> {
    const answer = await this.#call('POST', `/${kind}s`, { [kind]: item });
    return String(recordsIn(answer, kind)[0]?.id);
  }

  async #logInAs(user: object, scope: object): Promise<string> {
    const auth = { identity: { methods: ['password'], password: { user } }, scope };
    const { headers } = await this.#send('POST', '/auth/tokens', { auth }, {}, '');
    return headers.get('x-subject-token') ?? '';
  }

  async #call(method: string, path: string, body?: object, token = this.#token): Promise<unknown> {
    const text = await (await this.#send(method, path, body, {}, token)).text();
    return text === '' ? undefined : JSON.parse(text);
  }

  async #send(
    method: string,
    path: string,
    body: object | undefined,
    headers: Readonly<Record<string, string>>,
    token = this.#token,
  ): Promise<Response> {
    const response = await fetch(`${this.#url}${path}`, {
      method,
      headers: { 'content-type': 'application/json', 'x-auth-token': token, ...headers },
      ...(body && { body: JSON.stringify(body) }),
    });
    if (response.ok) return response;
    if (response.status === 401 && token !== '' && token === this.#token) {
      // Tokens may be made to last for seconds only.
      await this.logIn();
      return this.#send(method, path, body, headers);
    }
    throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
  }
}

export interface User {
  readonly id: string;
  readonly password: string;
  readonly project: string;
}

/** The objects under the key, one or many. */
function recordsIn(answer: unknown, key: string): readonly Readonly<Record<string, unknown>>[] {
  const value = typeof answer === 'object' && answer !== null ? Reflect.get(answer, key) : undefined;
  return [value].flat().filter((item) => typeof item === 'object' && item !== null);
}
