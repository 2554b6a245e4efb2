import { Module } from '@nestjs/common';
import { ObjectsModule } from '../objects/objects.module.js';
import { PromptsController } from './prompts.controller.js';
import { PromptsReader } from './prompts-reader.service.js';
import { PromptsService } from './prompts.service.js';

/** Prompts with numbered versions and labels, which are objects that SDKs also read as such. */
@Module({
  imports: [ObjectsModule],
  controllers: [PromptsController],
  providers: [PromptsReader, PromptsService],
  exports: [PromptsService],
})
export class PromptsModule {}
