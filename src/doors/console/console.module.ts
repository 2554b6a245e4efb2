import { Module } from '@nestjs/common';
import { PeopleModule } from '../../platform/people/people.module.js';
import { ConsoleController } from './console.controller.js';

/** Manages sessions of the web console. Its pages are files (`console-files.ts`), and their data comes from the API. */
@Module({ imports: [PeopleModule], controllers: [ConsoleController] })
export class ConsoleModule {}
