import { Module } from '@nestjs/common';
import { CallsModule } from '../../tracing/calls/calls.module.js';
import { PreviewModule } from '../preview.module.js';
import { PromotionController } from './promotion.controller.js';
import { PromotionService } from './promotion.service.js';

/** Which checkpoint of a model is the current one, and what it had to show for that. */
@Module({
  imports: [CallsModule, PreviewModule],
  controllers: [PromotionController],
  providers: [PromotionService],
})
export class PromotionModule {}
