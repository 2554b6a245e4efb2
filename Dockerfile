# Build with the dev dependencies, run without them and without what only builds need.
FROM node:24-bookworm-slim AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
COPY console/package.json ./console/
RUN npm ci
COPY . .
# What /server_info calls the commit: --build-arg SOURCE_COMMIT=$(git rev-parse --short=12 HEAD). The context has no .git.
ARG SOURCE_COMMIT
# The embedded PostgreSQL makes its links between libraries here: the service may not write its own code.
RUN npm run build && node scripts/notices.mjs > NOTICES && npm prune --omit=dev && node scripts/slim.mjs node_modules \
  && find dist \( -name '*.map' -o -name '*.d.ts' \) -delete \
  && node -e "import('./dist/src/platform/postgres/postgres-account.js').then((m) => m.postgresBinaries())"

FROM node:24-bookworm-slim
# Lets initdb run as a user id that /etc/passwd does not know.
RUN apt-get update && apt-get install -y --no-install-recommends libnss-wrapper && rm -rf /var/lib/apt/lists/*
ENV NODE_ENV=production HOST=0.0.0.0 DATA_DIR=/data npm_config_update_notifier=false npm_config_logs_max=0
WORKDIR /app
COPY --from=build /app/package.json /app/LICENSE /app/NOTICES ./
COPY --from=build /app/node_modules ./node_modules
COPY --from=build /app/dist ./dist
RUN chmod +x dist/src/server/commands/skein.js && ln -s /app/dist/src/server/commands/skein.js /usr/local/bin/skein
# The home of the embedded PostgreSQL and of the first key; any user id of group 0 may use it. Mount a volume here.
RUN mkdir /data && chown node:0 /data && chmod 770 /data
USER 1000:0
EXPOSE 3000
HEALTHCHECK --interval=10s --timeout=3s --start-period=20s \
  CMD ["node", "-e", "fetch('http://127.0.0.1:'+(process.env.PORT||3000)+'/ready').then(r=>process.exit(r.ok?0:1),()=>process.exit(1))"]
# No npm in between: SIGTERM must reach the service. `env -S` and `node` replace each other in one process.
CMD ["skein", "start"]
