# Build with the dev dependencies, run without them.
FROM node:24-bookworm-slim AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci
COPY . .
RUN npm run build && npm prune --omit=dev

FROM node:24-bookworm-slim
ENV NODE_ENV=production HOST=0.0.0.0 DATA_DIR=/data
WORKDIR /app
COPY --from=build /app/package.json ./
# Owned by the user: the embedded PostgreSQL may have links of its own to make.
COPY --from=build --chown=node:node /app/node_modules ./node_modules
COPY --from=build /app/dist ./dist
# Used only without DATABASE_URL: the home of the embedded PostgreSQL.
RUN mkdir /data && chown node:node /data
USER node
VOLUME /data
EXPOSE 3000
HEALTHCHECK --interval=10s --timeout=3s --start-period=20s \
  CMD ["node", "-e", "fetch('http://127.0.0.1:'+(process.env.PORT||3000)+'/ready').then(r=>process.exit(r.ok?0:1),()=>process.exit(1))"]
# No npm in between: SIGTERM must reach the service.
CMD ["node", "--max-semi-space-size=32", "dist/src/main.js"]
