/** The part of `metadata` that routing reads. */
export interface ObjectMeta {
  readonly name: string;
  readonly namespace?: string;
  readonly generation?: number;
  readonly creationTimestamp?: string;
}

/** The part of a Service that routing reads. */
export interface Service {
  readonly metadata: ObjectMeta;
  readonly spec?: {
    readonly type?: string;
    readonly clusterIP?: string;
    readonly clusterIPs?: readonly string[];
    readonly ports?: readonly ServicePort[];
  };
}

export interface ServicePort {
  readonly name?: string;
  readonly port: number;
  readonly protocol?: string;
  readonly appProtocol?: string;
}

/** `namespace/name`, as caches hold an object. */
export type ObjectKey = string;

export function keyOf({ metadata: { namespace = '', name } }: { readonly metadata: ObjectMeta }): ObjectKey {
  return `${namespace}/${name}`;
}

/** The services by their keys: a Map, or the index of a cache. */
export type Services = Pick<ReadonlyMap<ObjectKey, Service>, 'get'>;
