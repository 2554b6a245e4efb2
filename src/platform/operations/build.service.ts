import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { registerInfo } from '../process/metrics.js';
import { buildFacts } from '../database/schema-state.js';

/** Facts of the running build, for `/server_info` and `/metrics`. */
@Injectable()
export class BuildService {
  readonly build: ReturnType<typeof buildFacts>;

  constructor(dataSource: DataSource) {
    this.build = buildFacts(dataSource);
    const { version, commit, schema } = this.build;
    registerInfo('skein_build_info', '1, by what runs here; schema is its newest migration.', {
      version,
      commit,
      node: process.version,
      schema,
    });
  }
}
