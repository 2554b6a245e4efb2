import { Module } from '@nestjs/common';
import { PeopleModule } from '../../platform/people/people.module.js';
import { ConsoleController } from './console.controller.js';

/** The way into the web console; its pages are files (`console-files.ts`), and what they show comes from the API. */
@Module({ imports: [PeopleModule], controllers: [ConsoleController] })
export class ConsoleModule {}
