import { type DynamicModule, Global, Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import type { DataSource } from 'typeorm';
import { Database } from './database.js';
import { Notices } from './notices.js';
import { Probe } from './probe.js';
import { Schedule } from './schedule.js';
import { StagedUploads } from './staged-uploads.js';
import { UnfilledRows } from './unfilled-rows.js';

/**
 * Provides the only connection pool of the process, for repositories and for `Database`. Closing the app closes the
 * pool.
 */
@Global()
@Module({})
export class DatabaseModule {
  static forDataSource(dataSource: DataSource): DynamicModule {
    return {
      module: DatabaseModule,
      imports: [
        TypeOrmModule.forRootAsync({
          useFactory: () => dataSource.options,
          dataSourceFactory: async () =>
            dataSource.isInitialized ? dataSource : dataSource.initialize(),
        }),
      ],
      providers: [Database, Notices, Probe, Schedule, StagedUploads, UnfilledRows],
      exports: [Database, Notices, Probe, Schedule, StagedUploads, UnfilledRows],
    };
  }
}
