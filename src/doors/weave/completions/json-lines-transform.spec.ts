import { JsonLinesTransform } from './json-lines-transform.js';

it('makes lines of events in pieces of any size', () => {
  const events =
    'data: {"a":1}\n\n: said\ndata: {"b":\r\ndata: 2}\r\n\r\ndata:x\n\ndata: [DONE]\n\ndata: y';
  for (const size of [1, 2, 3, 7, 1000]) {
    const transform = new JsonLinesTransform(null);
    let lines = '';
    for (let at = 0; at < events.length; at += size)
      lines += transform.pass(Buffer.from(events.slice(at, at + size))).toString();
    expect(lines + transform.rest().toString()).toBe('{"a":1}\n{"b": 2}\nx\ny\n');
  }
});
