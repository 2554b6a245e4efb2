// A program of a user of Langfuse's SDK, version 3. Its last line of output is JSON with the values that the client
// read.
import { Langfuse, LangfuseMedia } from 'langfuse';

const langfuse = new Langfuse({ flushAt: 3 });
const refused = [];
langfuse.on('error', (error) => refused.push(String(error)));
const trace = langfuse.trace({
  name: 'answer',
  sessionId: 'talk',
  userId: 'u',
  input: 'How is it?',
  tags: ['a'],
});
const span = trace.span({ name: 'search', input: { city: 'Rome' } });
const generation = span.generation({
  name: 'llm',
  model: 'gpt-4o-mini',
  input: [{ role: 'user', content: 'How is it?' }],
});
await langfuse.flushAsync();
generation.end({ output: 'Sunny.', usage: { promptTokens: 20, completionTokens: 8 } });
span.end({ output: ['sunny'] });
trace.event({ name: 'clicked' });
const picture = new LangfuseMedia({
  contentBytes: Buffer.from('no real picture'),
  contentType: 'image/png',
});
trace.update({ metadata: { picture } });
trace.update({ output: 'Sunny.' });
trace.score({ name: 'accuracy', value: 0.9, comment: 'fine' });
generation.score({ name: 'style', value: 'short' });
langfuse.score({ sessionId: 'talk', name: 'helpful', value: 1 });
const greeting = { name: 'greet/all', prompt: 'Hi {{x}}', labels: ['production'] };
await langfuse.createPrompt(greeting);
const compiled = (await langfuse.getPrompt('greet/all')).compile({ x: 'you' });
await langfuse.shutdownAsync();
const [, mediaId] = /id=([^|]+)/.exec(picture.toJSON());
const media = await langfuse.fetchMedia(mediaId);
const bytes = await (await fetch(media.url)).text();
console.log(
  JSON.stringify({
    refused,
    trace: trace.id,
    generation: generation.id,
    media: mediaId,
    bytes,
    compiled,
  }),
);
