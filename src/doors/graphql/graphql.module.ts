import { Module } from '@nestjs/common';
import { GraphqlController } from './graphql.controller.js';

/** The three GraphQL operations that SDKs ask before they trace. */
@Module({ controllers: [GraphqlController] })
export class GraphqlModule {}
