import { Module } from '@nestjs/common';
import { BackupsKeeper } from './backups.keeper.js';

@Module({ providers: [BackupsKeeper] })
export class BackupsModule {}
