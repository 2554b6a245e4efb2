import {
  Injectable,
  Logger,
  type OnApplicationBootstrap,
  type OnModuleDestroy,
} from '@nestjs/common';
import { ErasingsService } from './erasings.service.js';

const EVERY_MS = 5000;

/** Goes on with erasings whose process died. Every process of every replica runs one. */
@Injectable()
export class ErasingsSweeper implements OnApplicationBootstrap, OnModuleDestroy {
  private readonly logger = new Logger('erasing');
  private timer: NodeJS.Timeout | undefined;
  private running: Promise<void> | null = null;

  constructor(private readonly erasings: ErasingsService) {}

  onApplicationBootstrap(): void {
    const look = () => (this.running ??= this.look().finally(() => (this.running = null)));
    this.timer = setInterval(() => void look(), EVERY_MS).unref();
  }

  onModuleDestroy(): void {
    clearInterval(this.timer);
  }

  /** A database that is away is looked for again next time. */
  private async look(): Promise<void> {
    try {
      await this.erasings.takeOver();
    } catch (error) {
      this.logger.warn(`erasings could not be looked for: ${(error as Error).message}`);
    }
  }
}
