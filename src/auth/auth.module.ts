import { Global, Module } from '@nestjs/common';
import { PassportModule } from '@nestjs/passport';
import { TypeOrmModule } from '@nestjs/typeorm';
import { ApiKey } from './api-key.entity.js';
import { BasicStrategy } from './basic.strategy.js';
import { BearerStrategy } from './bearer.strategy.js';
import { FailedAttempts } from './failed-attempts.js';
import { Idempotency } from './idempotency.js';
import { IdempotencySweeper } from './idempotency.sweeper.js';
import { KeysController } from './keys.controller.js';
import { KeysService } from './keys.service.js';

/** Global, because the guards that controllers of every feature declare need the failed attempts counted in one place. */
@Global()
@Module({
  imports: [PassportModule, TypeOrmModule.forFeature([ApiKey])],
  controllers: [KeysController],
  providers: [
    KeysService,
    BasicStrategy,
    BearerStrategy,
    FailedAttempts,
    Idempotency,
    IdempotencySweeper,
  ],
  exports: [KeysService, FailedAttempts, Idempotency],
})
export class AuthModule {}
