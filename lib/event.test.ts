import assert from "node:assert/strict";
import { PassThrough } from "node:stream";
import { test } from "node:test";
import { readEvent } from "./event.ts";

/** What arrives in pieces, late or not at all is tested with real hooks; this is for what no client should send. */

function stream(...parts: (string | Buffer)[]): NodeJS.ReadStream {
  const input = new PassThrough();
  for (const part of parts) input.write(part);
  return input as unknown as NodeJS.ReadStream;
}

test("an event that is larger than any can be is refused in a word, not read on and on", async () => {
  const huge = Buffer.alloc(257 * 1024 * 1024, "x");
  await assert.rejects(readEvent(stream('{"hook_event_name":"', huge)), {
    name: "SignalsError",
    message: "stdin: an event of more than 256 MiB; nothing was delivered",
  });
});

test("what follows a whole event is not waited for", async () => {
  const event = { hook_event_name: "Stop", session_id: "s1", cwd: "/tmp" };
  const read = await readEvent(stream(JSON.stringify(event), "\nmore"));
  assert.equal(read?.session_id, "s1");
});
