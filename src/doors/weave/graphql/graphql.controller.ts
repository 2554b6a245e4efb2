import { Body } from '@nestjs/common';
import { ApiOkResponse } from '@nestjs/swagger';
import { type ExecutionResult, graphql, type GraphQLError, parse } from 'graphql';
import {
  BasicAuth,
  NoProjectField,
  Operation,
  Resource,
} from '../../../platform/auth/access-decorators.js';
import { Context, Ctx } from '../../../platform/http/context.js';
import { GraphqlAnswerDto, GraphqlDto } from './graphql.dto.js';
import { queryRoot, SCHEMA } from './schema.js';

/**
 * The longest query of an SDK has about 60 tokens. Validation is quadratic in their number, and recursive over
 * fragments.
 */
const MAX_TOKENS = 500;

@Resource('graphql', BasicAuth())
export class GraphqlController {
  /**
   * Answers the operations `viewer`, `project` and `upsertModel`, which SDKs send before they trace. Nothing is stored.
   */
  @Operation('graphql', 'reader')
  @NoProjectField('the resolvers check the project that a query asks for')
  @ApiOkResponse({ type: GraphqlAnswerDto })
  async query(
    @Body() { query, variables, operationName }: GraphqlDto,
    @Ctx() { caller }: Context,
  ): Promise<ExecutionResult> {
    try {
      parse(query, { maxTokens: MAX_TOKENS });
    } catch (error) {
      return { errors: [error as GraphQLError] };
    }
    return graphql({
      schema: SCHEMA,
      source: query,
      rootValue: queryRoot(caller),
      variableValues: variables as Record<string, unknown> | null,
      operationName: operationName ?? null,
    });
  }
}
