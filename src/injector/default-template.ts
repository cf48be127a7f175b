/**
 * The template that an installation starts with, where its users have written none: a current Envoy that passes pod
 * security `restricted`, configured by the ConfigMap `envoy` of the pod's namespace. Once it is in the ConfigMap it is
 * the users' own, and never touched again.
 */
export const DEFAULT_TEMPLATE = `# What is added to each pod that opts in. Change it as you like: pods created from then on get the new one.
containers:
  - name: envoy
    image: envoyproxy/envoy:v1.40.0
    args:
      - --config-path
      - /etc/envoy/envoy.json
      - --concurrency
      - "2"
      - --disable-hot-restart
    ports:
      - name: envoy
        containerPort: 80
        protocol: TCP
    # As deploy/envoy has it: on the admin endpoint, which is for the pod alone, /ready is not to be seen.
    startupProbe:
      httpGet:
        path: /ready
        port: 15021
      periodSeconds: 1
      failureThreshold: 60
    readinessProbe:
      httpGet:
        path: /ready
        port: 15021
      periodSeconds: 5
    # Goes on while the Services of the cluster take note that the pod is going.
    lifecycle:
      preStop:
        sleep:
          seconds: 10
    resources:
      requests:
        cpu: 100m
        memory: 64Mi
      limits:
        memory: 512Mi
    securityContext:
      runAsNonRoot: true
      runAsUser: 1337
      runAsGroup: 1337
      allowPrivilegeEscalation: false
      readOnlyRootFilesystem: true
      capabilities:
        drop: [ALL]
      seccompProfile:
        type: RuntimeDefault
    volumeMounts:
      - name: envoy-conf
        mountPath: /etc/envoy
        readOnly: true
volumes:
  - name: envoy-conf
    configMap:
      name: envoy
`;
