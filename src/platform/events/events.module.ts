import { Module } from '@nestjs/common';
import { EventsController } from './events.controller.js';
import { EventsService } from './events.service.js';

/** Tells clients when to look again. */
@Module({ controllers: [EventsController], providers: [EventsService] })
export class EventsModule {}
