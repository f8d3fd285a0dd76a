import { randomUUID } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { newTexts, type Piece, type Shown } from "./shown.ts";
import { Part, type StandIn, type Step as StepOf, sendEvents, startStandIn } from "./stand-in.ts";

/** What a conversation is made of: only what the tests read has a type. */
export type Item = {
  type: string;
  role?: string;
  content?: { text?: string }[];
  output?: string | { text?: string }[];
};

/** The body of one request. */
type Body = { model: string; input: Item[] };

/** One request: what the model would have been shown. */
export type ResponsesRequest = Body & Shown;

export type ToolCall = { name: string; namespace?: string; input: Record<string, unknown> };

/** What the model says: text, or text and tool calls; `tokens` is what the conversation is said to take by then. */
export type Answer = string | { text?: string; tools?: readonly ToolCall[]; tokens?: number };

export type Step = StepOf<ResponsesRequest, Answer>;

export type ResponsesApi = StandIn & {
  /** The requests of main threads, oldest first. */
  requests: ResponsesRequest[];
  /** The requests of all subagents, oldest first. */
  subagentRequests: ResponsesRequest[];
  /** Those that ask for the summary of a compaction, with what the model loses by it. */
  compactions: ResponsesRequest[];
};

/** The interactive client looks there for news, whatever its settings. */
const NEWS = "raw.githubusercontent.com:443";
/** The answer to those requests that are no part of a conversation: what they want is a name for it. */
const UTILITY = '{"title":"A test session"}';
const SUMMARY = "What happened so far.";

/** What the model says, in the main thread and as a subagent. */
export type Script = { script?: readonly Step[]; subagents?: readonly Step[] };

/**
 * A stand-in for the OpenAI Responses API on a free port of 127.0.0.1. Each request of a main thread takes the next
 * step of `script`, each of a subagent the next of `subagents`; one for a summary gets a fixed text, and so do the
 * others, which are not kept.
 */
export async function startResponsesApi({ script, subagents }: Script): Promise<ResponsesApi> {
  const main = new Part<ResponsesRequest, Answer>(script);
  const sub = new Part<ResponsesRequest, Answer>(subagents);
  const compactions: ResponsesRequest[] = [];

  async function answerTo(request: IncomingMessage, body: Body): Promise<Answer> {
    const shown = { ...body, pieces: body.input.flatMap(piecesOf) };
    const { request_kind, thread_source } = purposeOf(request);
    if (request_kind === "compaction") {
      compactions.push(shown);
      return SUMMARY;
    }
    if (thread_source === "subagent") return sub.answer(shown);
    return thread_source === "user" ? main.answer(shown) : UTILITY;
  }

  const standIn = await startStandIn<Body>(
    {
      "POST /v1/responses": async (response, body, request) =>
        sendEvents(response, eventsOf(await answerTo(request, body))),
    },
    [NEWS],
  );
  return { ...standIn, requests: main.requests, subagentRequests: sub.requests, compactions };
}

/** What the client says a request is for, in a header of its own. */
function purposeOf({ headers }: IncomingMessage): { request_kind?: string; thread_source?: string } {
  return JSON.parse(String(headers["x-codex-turn-metadata"]));
}

/** One response of the model, as a stream of events. */
function eventsOf(answer: Answer): ({ type: string } & Record<string, unknown>)[] {
  const { text = "", tools = [], tokens = 100 } = typeof answer === "string" ? { text: answer } : answer;
  const id = (kind: string) => `${kind}_${randomUUID().replaceAll("-", "")}`;
  const message = { type: "message", role: "assistant", content: [{ type: "output_text", text }] };
  const calls = tools.map(({ input, ...call }) => ({
    type: "function_call",
    call_id: id("call"),
    ...call,
    arguments: JSON.stringify(input),
  }));
  const output = [...(text || calls.length === 0 ? [message] : []), ...calls];
  const response = { id: id("resp") };
  const usage = { input_tokens: tokens, output_tokens: 10, total_tokens: tokens + 10 };
  return [
    { type: "response.created", response },
    ...output.map((item, output_index) => ({ type: "response.output_item.done", output_index, item })),
    { type: "response.completed", response: { ...response, usage } },
  ];
}

/** The pieces of an item; what the model said itself, calls included, is the assistant's. */
function piecesOf(item: Item): Piece[] {
  const { type, role = "assistant", content = [], output } = item;
  if (type === "message") return content.map(({ text = "" }) => ({ role, text }));
  if (output === undefined) return [{ role: "assistant", text: JSON.stringify(item) }];
  const texts = typeof output === "string" ? [output] : output.map(({ text = "" }) => text);
  return texts.map((text) => ({ role: "tool", text }));
}

/**
 * What `placesOf` says of what a hook adds: the client makes a developer's message of it, at a session's start ahead
 * of the prompt, on the prompt's submission behind it, and after a tool call between the call and its result.
 */
export const AT = {
  start: "user, developer, user",
  prompt: "user, developer",
  call: "assistant, developer, tool",
} as const;

/** Where each request newly shows a text: the role of the piece that holds it, between those of its neighbours. */
export function placesOf(requests: readonly Shown[], text: string): string[][] {
  return newTexts(requests).map((news, index) => {
    const { pieces } = requests[index] ?? { pieces: [] };
    return news
      .filter((piece) => piece.role !== "assistant" && piece.text.includes(text))
      .map((piece) => {
        const at = pieces.indexOf(piece);
        return pieces
          .slice(at - 1, at + 2)
          .map(({ role }) => role)
          .join(", ");
      });
  });
}
