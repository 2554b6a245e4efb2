import { Body, type StreamableFile } from '@nestjs/common';
import { ApiOkResponse } from '@nestjs/swagger';
import { BasicAuth, Operation, Resource } from '../../../platform/auth/access-decorators.js';
import { AnswersInDialect } from '../../../platform/auth/dialect.guard.js';
import { ApiJsonResponse } from '../../../platform/http/api-answers.js';
import { Context, Ctx } from '../../../platform/http/context.js';
import { jsonArray } from '../../../platform/http/json-rows.js';
import {
  AgentSearchAnswerDto,
  AgentsFoundDto,
  AgentTurnDto,
  AgentVersionsFoundDto,
  ConversationDto,
  ConversationsDto,
  CustomAttributesFoundDto,
  SpansFoundDto,
  SpanStatsAnswerDto,
} from './agents.answers.dto.js';
import {
  AgentSearchDto,
  AgentsQueryDto,
  AgentVersionsQueryDto,
  ConversationChatDto,
  ConversationSpansDto,
  CustomAttributesDto,
  SpansQueryDto,
  SpanStatsDto,
  TraceChatDto,
} from './agents.dto.js';
import { AgentsService } from './agents.service.js';
import { ChatService } from './chat.service.js';
import { SearchService } from './search.service.js';
import { SpansService } from './spans.service.js';

@Resource('agents', BasicAuth(), 'agents')
export class AgentsController {
  constructor(
    private readonly agents: AgentsService,
    private readonly spans: SpansService,
    private readonly chats: ChatService,
    private readonly searches: SearchService,
  ) {}

  /** Lists the agents that spans name, with sums over their spans. Agents that were seen last come first. */
  @Operation('query', 'reader')
  @ApiJsonResponse({ type: AgentsFoundDto })
  list(@Body() body: AgentsQueryDto): Promise<string> {
    return this.agents.agents(body);
  }

  /** Lists the versions of an agent, with the same sums. */
  @Operation('agent-versions/query', 'reader')
  @ApiJsonResponse({ type: AgentVersionsFoundDto })
  versions(@Body() body: AgentVersionsQueryDto): Promise<string> {
    return this.agents.versions(body);
  }

  /** Lists spans of agents, by default the newest first. With `group_by`, it returns sums over groups of spans. */
  @Operation('spans/query', 'reader')
  @AnswersInDialect()
  @ApiOkResponse({ type: SpansFoundDto })
  async query(@Body() body: SpansQueryDto, @Ctx() context: Context): Promise<StreamableFile> {
    const { name, rows, members } = await this.spans.query(body, context);
    return jsonArray(rows, context, name, members);
  }

  /** Computes statistics of spans over time, by groups. */
  @Operation('spans/stats', 'reader')
  stats(@Body() body: SpanStatsDto): Promise<SpanStatsAnswerDto> {
    return this.spans.stats(body);
  }

  /** Lists the attributes of spans that no field shows, by kind, with the number of spans that have them. */
  @Operation('spans/custom-attrs/schema', 'reader')
  customAttributes(@Body() body: CustomAttributesDto): Promise<CustomAttributesFoundDto> {
    return this.spans.customAttributes(body);
  }

  /** Returns a trace as a chat: messages of the user, the agents and their tools. */
  @Operation('traces/chat', 'reader')
  @AnswersInDialect()
  @ApiJsonResponse({ type: AgentTurnDto })
  trace(@Body() body: TraceChatDto, @Ctx() context: Context): Promise<string> {
    return this.chats.trace(body, context);
  }

  /** Returns a conversation as chats, one for each of its traces. The first page has the newest. */
  @Operation('conversations/chat', 'reader')
  @AnswersInDialect()
  @ApiJsonResponse({ type: ConversationDto })
  conversation(@Body() body: ConversationChatDto, @Ctx() context: Context): Promise<string> {
    return this.chats.conversation(body, context);
  }

  /** Lists the spans of conversations in short, with tags and ratings of their feedback. */
  @Operation('conversations/spans', 'reader')
  @ApiJsonResponse({ type: ConversationsDto })
  conversations(@Body() body: ConversationSpansDto): Promise<string> {
    return this.chats.conversations(body);
  }

  /** Searches the messages of the newest 20,000 spans. */
  @Operation('search', 'reader')
  search(@Body() body: AgentSearchDto, @Ctx() context: Context): Promise<AgentSearchAnswerDto> {
    return this.searches.search(body, context);
  }
}
