import type { Engine } from '../../../platform/config/gateway-settings.js';
import { openai } from './openai/openai.adapter.js';
import type { ProviderAdapter } from './provider-adapter.js';
import { sglang } from './sglang/sglang.adapter.js';
import { vllm } from './vllm/vllm.adapter.js';

/** Adapters, keyed by the `engine` of a provider in GATEWAY_PROVIDERS. */
export const ADAPTERS: Readonly<Record<Engine, ProviderAdapter>> = { openai, vllm, sglang };
