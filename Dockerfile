# From any base with Node 22.19 or newer, npm, a shell and glibc, and Debian's packages, or ip, bridge and nft in
# /usr/sbin and the CNI plugins in /usr/lib/cni; where no registry is reachable, --build-arg BASE=
# The digest is of the index of all platforms (Node 26.7.0); `make base-digest` writes the present one.
ARG BASE=docker.io/library/node:26-slim@sha256:4ebb5ace66f15a24c14c492e01a8beeed4fddf970a856109f5126e703e5fe503

FROM ${BASE} AS build
WORKDIR /app
RUN { [ -x /usr/lib/cni/bridge ] && [ -x /usr/sbin/bridge ] && [ -x /usr/sbin/nft ]; } || \
    { apt-get update && apt-get install --yes --no-install-recommends containernetworking-plugins iproute2 nftables; }
COPY package.json package-lock.json .npmrc ./
# No package runs a script: see .npmrc.
RUN npm ci
COPY tsconfig.json ./
COPY src src
COPY hack/bundle hack/bundle
# Optional packages are tools of development: the compiler's binary, a Node of our own.
RUN npm run build && npm prune --omit=dev --omit=optional && npm pkg delete devDependencies optionalDependencies overrides
COPY hack/image hack/image
# Of all files; two builds of the same sources give the same layers.
ARG SOURCE_DATE_EPOCH=0
RUN node hack/image/sbom.js >sbom.cdx.json && sh hack/image/make-root.sh /rootfs "$SOURCE_DATE_EPOCH"

FROM scratch
ARG REVISION=unknown
LABEL org.opencontainers.image.title="envoy-initializer" \
      org.opencontainers.image.description="Injects the Envoy sidecar into pods at admission, and turns Network objects into real networks" \
      org.opencontainers.image.version="0.0.1" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.licenses="Apache-2.0"
COPY --from=build /rootfs/node /
COPY --from=build /rootfs/program /
WORKDIR /app
ENV NODE_ENV=production
# A number, so that runAsNonRoot can be checked. Nothing is written to: the root may be read-only.
USER 65532:65532
EXPOSE 8443 8080
ENTRYPOINT ["/usr/local/bin/node", "/app/dist/main.js"]
CMD ["serve"]
