import { Module } from '@nestjs/common';
import { BackupsKeeper } from './backups.keeper.js';

/** Scheduled backups of the service. */
@Module({ providers: [BackupsKeeper] })
export class BackupsModule {}
