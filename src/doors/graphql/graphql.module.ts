import { Module } from '@nestjs/common';
import { GraphqlController } from './graphql.controller.js';

/** Serves the three GraphQL operations that SDKs send before they trace. */
@Module({ controllers: [GraphqlController] })
export class GraphqlModule {}
