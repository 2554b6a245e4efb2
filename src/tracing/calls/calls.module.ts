import { Module } from '@nestjs/common';
import { CostsModule } from '../costs/costs.module.js';
import { ProjectsModule } from '../projects/projects.module.js';
import { CallIndexesController } from './indexes/call-indexes.controller.js';
import { CallIndexesKeeper } from './indexes/call-indexes.keeper.js';
import { CallIndexesService } from './indexes/call-indexes.service.js';
import { CallsErasingController } from './erasing/calls-erasing.controller.js';
import { CallsErasingService } from './erasing/calls-erasing.service.js';
import { CallsVacuum } from './erasing/calls-vacuum.js';
import { DerivedDataRegistry } from './erasing/derived-data.service.js';
import { CallsController } from './calls.controller.js';
import { CallsService } from './calls.service.js';
import { CallLists } from './read/call-lists.service.js';
import { CallConditions } from './read/call-conditions.service.js';
import { CallsWriter } from './ingest/calls.writer.js';
import { OrphansKeeper } from './ingest/orphans.keeper.js';
import { Turns } from './ingest/turns.service.js';
import { FoldedSpans } from './folded/folded-spans.service.js';
import { AgentTurns } from './agent-turns/agent-turns.service.js';
import { CallSources } from './source/call-sources.service.js';
import { CallSlotsRefresher } from './stats/call-slots.refresher.js';
import { CallCountsService } from './stats/call-counts.service.js';
import { CallStatsController } from './stats/call-stats.controller.js';
import { CallStatsService } from './stats/call-stats.service.js';
import { CallTextSearch } from './texts/text-search.service.js';
import { CallTextsIndexer } from './texts/call-texts.indexer.js';
import { CallMessagesService } from './messages/call-messages.service.js';
import { CallUsageController } from './usage/call-usage.controller.js';
import { CallUsageService } from './usage/call-usage.service.js';
import { CallMatchesController } from './texts/call-matches.controller.js';
import { CallMatchesService } from './texts/call-matches.service.js';
import { UnreadUsageFiller } from './usage/unread-usage.filler.js';

/** Records calls and returns them as they were sent. */
@Module({
  imports: [CostsModule, ProjectsModule],
  controllers: [
    CallsController,
    CallsErasingController,
    CallStatsController,
    CallUsageController,
    CallIndexesController,
    CallMatchesController,
  ],
  providers: [
    CallsService,
    AgentTurns,
    FoldedSpans,
    CallLists,
    CallConditions,
    CallsErasingService,
    DerivedDataRegistry,
    CallsVacuum,
    CallsWriter,
    Turns,
    CallSources,
    OrphansKeeper,
    CallMessagesService,
    CallStatsService,
    CallCountsService,
    CallUsageService,
    UnreadUsageFiller,
    CallSlotsRefresher,
    CallTextSearch,
    CallTextsIndexer,
    CallIndexesService,
    CallIndexesKeeper,
    CallMatchesService,
  ],
  exports: [
    CallsService,
    AgentTurns,
    FoldedSpans,
    CallLists,
    CallsErasingService,
    CallMessagesService,
    CallStatsService,
    DerivedDataRegistry,
  ],
})
export class CallsModule {}
