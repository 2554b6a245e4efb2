import { Module } from '@nestjs/common';
import { GroupsRefresher } from './groups-refresher.js';
import { PeopleController } from './people.controller.js';
import { PeopleService } from './people.service.js';
import { ProvidersService } from './providers.service.js';
import { SignInController } from './sign-in.controller.js';
import { SignInService } from './sign-in.service.js';

@Module({
  controllers: [PeopleController, SignInController],
  providers: [PeopleService, ProvidersService, SignInService, GroupsRefresher],
  exports: [ProvidersService, SignInService],
})
export class PeopleModule {}
