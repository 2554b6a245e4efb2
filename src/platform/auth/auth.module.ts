import { Global, Module } from '@nestjs/common';
import { PassportModule } from '@nestjs/passport';
import { AuditModule } from '../audit/audit.module.js';
import { BasicStrategy } from './basic.strategy.js';
import { BearerStrategy } from './bearer.strategy.js';
import { FailedAttempts } from './limits/failed-attempts.js';
import { FailureLog } from './limits/failure-log.js';
import { Idempotency } from './idempotency/idempotency.js';
import { IdempotencySweeper } from './idempotency/idempotency.sweeper.js';
import { KeysController } from './keys/keys.controller.js';
import { MeController } from './keys/me.controller.js';
import { KeysService } from './keys/keys.service.js';
import { Admissions } from './limits/admission.js';
import { RateLimits } from './limits/rate-limits.js';
import { WorkloadTokens } from './workload-tokens.js';
import { SessionsService } from './sessions/sessions.service.js';

const SHARED = [
  Admissions,
  BasicStrategy,
  BearerStrategy,
  FailedAttempts,
  FailureLog,
  Idempotency,
  KeysService,
  RateLimits,
  SessionsService,
  WorkloadTokens,
];

/** Global, because controllers of every feature declare its guards. */
@Global()
@Module({
  imports: [PassportModule, AuditModule],
  controllers: [KeysController, MeController],
  providers: [...SHARED, IdempotencySweeper],
  exports: SHARED,
})
export class AuthModule {}
