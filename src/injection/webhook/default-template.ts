/**
 * The template that the operator creates if users have not written one: a current Envoy that passes pod security
 * `restricted`, configured by the ConfigMap `envoy` of the pod's namespace. The operator never changes it
 * afterwards.
 */
export const DEFAULT_TEMPLATE_YAML = `# Added to each pod that opts in. Edit it as needed: new pods get the new version.
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
      - name: envoy-metrics
        containerPort: 15090
        protocol: TCP
    # A listener of its own: the kubelet cannot reach the admin endpoint, which listens on localhost.
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
    # Keeps Envoy running until the Services stop sending requests to the pod.
    lifecycle:
      preStop:
        sleep:
          seconds: 10
    resources:
      requests:
        cpu: 100m
        memory: 64Mi
      # Quotas ask for all four of them.
      limits:
        cpu: "1"
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
    projected:
      sources:
        - configMap:
            name: envoy
        # Takes the pod out of its Services before a rollout changes the sidecar.
        - downwardAPI:
            items:
              - path: drain/drain
                fieldRef:
                  fieldPath: metadata.annotations['initializer.kubernetes.io/drain']
`;
