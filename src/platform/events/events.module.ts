import { Module } from '@nestjs/common';
import { EventsController } from './events.controller.js';
import { EventsService } from './events.service.js';

/** Notifies clients of changes. */
@Module({ controllers: [EventsController], providers: [EventsService] })
export class EventsModule {}
