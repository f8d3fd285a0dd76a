import { randomUUID } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Piece, Shown } from "./shown.ts";
import { Part, type StandIn, type Step as StepOf, sendEvents, sendJson, startStandIn } from "./stand-in.ts";

export { newTexts, timesShown } from "./shown.ts";

/** A content block of a message, or of a tool result: only what the tests read has a type. */
export type Block = { type: string; text?: string; content?: string | Block[] };

export type Message = { role: string; content: string | Block[] };

/** The body of one request. */
type Body = { model: string; messages: Message[]; stream?: boolean; tools?: { name: string }[] };

/** One request: what the model would have been shown. */
export type MessagesRequest = Body & Shown;

export type ToolCall = { name: string; input: Record<string, unknown> };

/** What the model says: text, or text and tool calls. */
export type Answer = string | { text?: string; tools?: readonly ToolCall[] };

export type Step = StepOf<MessagesRequest, Answer>;

export type MessagesApi = StandIn & {
  /** The requests of the main loop, oldest first. */
  requests: MessagesRequest[];
  /** The requests of all subagents, oldest first. */
  subagentRequests: MessagesRequest[];
};

/** The answer to calls without tools, which name the session or sum up: they mostly want JSON. */
const UTILITY = '{"title":"A test session"}';
/** How the client, when it compacts a conversation, asks for the summary: with the tools on offer. */
const SUMMARY_WANTED = /Do NOT call any tools[\s\S]*<summary>/;
const SUMMARY = "<summary>What happened so far.</summary>";

/** What the model says, in the main loop and as a subagent. */
export type Script = { script?: readonly Step[]; subagents?: readonly Step[] };

/**
 * A stand-in for the Anthropic Messages API on a free port of 127.0.0.1. Each request of the main loop (one that
 * offers tools, and is neither a subagent's nor a summary's) takes the next step of `script`, each of a subagent the
 * next of `subagents`; the others get a fixed text and are not kept.
 */
export async function startMessagesApi({ script, subagents }: Script): Promise<MessagesApi> {
  const main = new Part<MessagesRequest, Answer>(script);
  const sub = new Part<MessagesRequest, Answer>(subagents);

  async function answerTo(request: IncomingMessage, body: Body): Promise<Answer> {
    if (!body.tools?.length) return UTILITY;
    // What a hook added to the last request may come behind it.
    const since = body.messages.slice(body.messages.findLastIndex(({ role }) => role === "assistant") + 1);
    const asked = since.flatMap(({ content }) => textsOf(content)).join("\n");
    if (SUMMARY_WANTED.test(asked)) return SUMMARY;
    const part = request.headers["x-claude-code-agent-id"] === undefined ? main : sub;
    return part.answer({ ...body, pieces: body.messages.flatMap(piecesOf) });
  }

  const standIn = await startStandIn<Body>({
    "POST /v1/messages/count_tokens": (response) => sendJson(response, 200, { input_tokens: 100 }),
    "POST /v1/messages": async (response, body, request) =>
      sendAnswer(response, body, await answerTo(request, body)),
  });
  return { ...standIn, requests: main.requests, subagentRequests: sub.requests };
}

/** One assistant message, as a stream of events or as a whole, whichever the request asked for. */
function sendAnswer(response: ServerResponse, request: Body, answer: Answer): void {
  const { text = "", tools = [] } = typeof answer === "string" ? { text: answer } : answer;
  const id = (kind: string) => `${kind}_${randomUUID().replaceAll("-", "")}`;
  const calls = tools.map((call) => ({ type: "tool_use" as const, id: id("toolu"), ...call }));
  const content = [...(text || calls.length === 0 ? [{ type: "text" as const, text }] : []), ...calls];
  const stop = { stop_reason: calls.length > 0 ? "tool_use" : "end_turn", stop_sequence: null };
  const usage = { input_tokens: 100, output_tokens: 10 };
  const message = {
    id: id("msg"),
    type: "message",
    role: "assistant",
    model: request.model,
    content,
    ...stop,
    usage,
  };
  if (!request.stream) {
    sendJson(response, 200, message);
    return;
  }

  const empty = { ...message, content: [], stop_reason: null };
  const blocks = content.flatMap((block, index) => [
    {
      type: "content_block_start",
      index,
      content_block: block.type === "text" ? { ...block, text: "" } : { ...block, input: {} },
    },
    {
      type: "content_block_delta",
      index,
      delta:
        block.type === "text"
          ? { type: "text_delta", text: block.text }
          : { type: "input_json_delta", partial_json: JSON.stringify(block.input) },
    },
    { type: "content_block_stop", index },
  ]);
  const events = [
    { type: "message_start", message: empty },
    ...blocks,
    { type: "message_delta", delta: stop, usage: { output_tokens: usage.output_tokens } },
    { type: "message_stop" },
  ];
  sendEvents(response, events);
}

function piecesOf({ role, content }: Message): Piece[] {
  return textsOf(content).map((text) => ({ role, text }));
}

function textsOf(content: string | readonly Block[] | undefined): string[] {
  if (typeof content === "string") return [content];
  return (content ?? []).flatMap((block) =>
    block.type === "text" ? [block.text ?? ""] : textsOf(block.content),
  );
}
