import { Global, Module } from '@nestjs/common';
import { PassportModule } from '@nestjs/passport';
import { AuditModule } from '../audit/audit.module.js';
import { BasicStrategy } from './basic.strategy.js';
import { BearerStrategy } from './bearer.strategy.js';
import { FailedAttempts } from './failed-attempts.js';
import { FailureLog } from './failure-log.js';
import { Idempotency } from './idempotency.js';
import { IdempotencySweeper } from './idempotency.sweeper.js';
import { KeysController } from './keys.controller.js';
import { MeController } from './me.controller.js';
import { KeysService } from './keys.service.js';
import { RateLimits } from './rate-limits.js';
import { WorkloadTokens } from './workload-tokens.js';
import { SessionsService } from './sessions.service.js';

/** Global, because controllers of every feature declare its guards. */
@Global()
@Module({
  imports: [PassportModule, AuditModule],
  controllers: [KeysController, MeController],
  providers: [
    KeysService,
    BasicStrategy,
    BearerStrategy,
    FailedAttempts,
    FailureLog,
    RateLimits,
    Idempotency,
    IdempotencySweeper,
    SessionsService,
    WorkloadTokens,
  ],
  exports: [
    FailedAttempts,
    WorkloadTokens,
    KeysService,
    BasicStrategy,
    BearerStrategy,
    FailureLog,
    RateLimits,
    Idempotency,
    SessionsService,
  ],
})
export class AuthModule {}
