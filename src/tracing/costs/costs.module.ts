import { Module } from '@nestjs/common';
import { CostsController } from './costs.controller.js';
import { CostsService } from './costs.service.js';

/** What models cost, and what calls did. */
@Module({ controllers: [CostsController], providers: [CostsService], exports: [CostsService] })
export class CostsModule {}
