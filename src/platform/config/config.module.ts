import { type DynamicModule, Global, Module } from '@nestjs/common';
import { CONFIG, type Config } from './config.js';

/** Provides the settings of an app: `@Inject(CONFIG) config: Config`. */
@Global()
@Module({})
export class ConfigModule {
  static of(config: Config): DynamicModule {
    return {
      module: ConfigModule,
      providers: [{ provide: CONFIG, useValue: config }],
      exports: [CONFIG],
    };
  }
}
