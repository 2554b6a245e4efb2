import type { INestApplicationContext } from '@nestjs/common';
import { ModulesContainer } from '@nestjs/core';
import { type DataSource, getMetadataArgsStorage } from 'typeorm';

/**
 * Checks that every controller is in a module, and every entity in the data source. Without an entry in a list, Nest
 * would not serve the controller, and TypeORM would not know the entity.
 * @throws Error that names each missing class and its list
 */
export function assertRegistered(
  app: INestApplicationContext,
  { entityMetadatas }: DataSource,
  controllers: readonly Function[],
): void {
  const modules = [...app.get(ModulesContainer).values()];
  const served = new Set(modules.flatMap((module) => [...module.controllers.keys()]));
  const tables = new Set(entityMetadatas.map(({ tableName }) => tableName));
  const faults = [
    ...controllers
      .filter((controller) => !served.has(controller))
      .map(({ name }) => `${name} is in no module that src/app.module.ts imports`),
    ...getMetadataArgsStorage()
      .tables.filter(({ name }) => !tables.has(name!))
      .map(({ target }) => `${(target as Function).name} is not in the entities of ormconfig.ts`),
  ];
  if (faults.length > 0) throw new Error(faults.join('\n'));
}
