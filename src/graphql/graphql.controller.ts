import { Body, Controller, HttpCode, HttpStatus, Post } from '@nestjs/common';
import { ApiOkResponse, ApiTags } from '@nestjs/swagger';
import { type ExecutionResult, graphql } from 'graphql';
import { Allow, BasicAuth } from '../auth/access.js';
import { Caller, CallerParam } from '../auth/caller.js';
import { GraphqlDto } from './graphql.dto.js';
import { rootOf, SCHEMA } from './schema.js';

@ApiTags('graphql')
@BasicAuth()
@Controller()
export class GraphqlController {
  /** The operations `viewer`, `project` and `upsertModel`, which SDKs ask before they trace. Nothing is stored. */
  @Post('graphql')
  @HttpCode(HttpStatus.OK)
  @Allow('reader')
  @ApiOkResponse({ schema: { example: { data: { viewer: { username: 'ada' } } } } })
  query(
    @Body() { query, variables, operationName }: GraphqlDto,
    @CallerParam() caller: Caller,
  ): Promise<ExecutionResult> {
    return graphql({
      schema: SCHEMA,
      source: query,
      rootValue: rootOf(caller),
      variableValues: variables as Record<string, unknown> | null,
      operationName: operationName ?? null,
    });
  }
}
