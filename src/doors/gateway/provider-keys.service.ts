import { readFile } from 'node:fs/promises';
import { Injectable } from '@nestjs/common';
import type { ModelProvider } from '../../platform/config/gateway-settings.js';
import { providerFailed } from './provider-client.js';

/** Reads the keys of providers for each request. Keys are never kept in memory. */
@Injectable()
export class ProviderKeys {
  /**
   * Returns null when the provider needs no key.
   * @throws ApiError `provider_failed`
   */
  async read(provider: ModelProvider): Promise<string | null> {
    const { readKey, keyFile } = provider;
    if (readKey) return checked(readKey(), provider);
    if (keyFile === undefined) return null;
    const text = await readFile(keyFile, 'utf8').catch((error: unknown) => {
      throw providerFailed(provider, 'cannot be asked: its key cannot be read', error);
    });
    return checked(text, provider);
  }
}

function checked(text: string | undefined, provider: ModelProvider): string {
  const key = text?.trim();
  if (key && /^[!-~]+$/.test(key)) return key;
  throw providerFailed(provider, 'cannot be asked: its key is missing, or is no text for a header');
}
