import { Module } from '@nestjs/common';
import { BackupsKeeper } from './backups.keeper.js';

/** Backups that the service makes by itself. */
@Module({ providers: [BackupsKeeper] })
export class BackupsModule {}
