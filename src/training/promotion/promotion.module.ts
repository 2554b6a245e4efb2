import { Module } from '@nestjs/common';
import { CallsModule } from '../../tracing/calls/calls.module.js';
import { PreviewModule } from '../preview.module.js';
import { PromotionController } from './promotion.controller.js';
import { PromotionService } from './promotion.service.js';

/** Promotion of checkpoints: the alias `current` of a model, and the gates that guard it. */
@Module({
  imports: [CallsModule, PreviewModule],
  controllers: [PromotionController],
  providers: [PromotionService],
})
export class PromotionModule {}
