# Where no registry is reachable: --build-arg BASE=localhost/some-image-with-node-22.19-or-newer-and-npm
ARG BASE=docker.io/library/node:26-slim

FROM ${BASE} AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci
COPY tsconfig.json tsconfig.build.json ./
COPY src src
# Optional packages are tools of development: the compiler's binary, a Node of our own.
RUN npm run build && npm prune --omit=dev --omit=optional

FROM ${BASE}
LABEL org.opencontainers.image.title="envoy-initializer" \
      org.opencontainers.image.description="Injects the Envoy sidecar into pods at admission, and turns Network objects into real networks" \
      org.opencontainers.image.version="0.0.1" \
      org.opencontainers.image.licenses="Apache-2.0"
WORKDIR /app
ENV NODE_ENV=production
COPY --from=build /app/package.json ./
COPY --from=build /app/node_modules node_modules
COPY --from=build /app/dist dist
# A number, so that runAsNonRoot can be checked. Nothing is written to: the root may be read-only.
USER 65532:65532
EXPOSE 8443 8080
ENTRYPOINT ["node", "/app/dist/main.js"]
CMD ["serve"]
