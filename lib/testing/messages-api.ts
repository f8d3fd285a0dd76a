import { randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { messageOf } from "../errors.ts";

/** A content block of a message, or of a tool result: only what the tests read has a type. */
export type Block = { type: string; text?: string; content?: string | Block[] };

export type Message = { role: string; content: string | Block[] };

/** The body of one request: what the model would have been shown. */
export type MessagesRequest = {
  model: string;
  messages: Message[];
  stream?: boolean;
  tools?: { name: string }[];
};

export type ToolCall = { name: string; input: Record<string, unknown> };

/** What the model says: text, or text and tool calls. */
export type Answer = string | { text?: string; tools?: readonly ToolCall[] };

/** An answer, or a function that may act (fire a signal, look at the request) before it gives one. */
export type Step = Answer | ((request: MessagesRequest) => Answer | Promise<Answer>);

export type MessagesApi = {
  /** `http://127.0.0.1:PORT`, both the base URL of the API and a proxy that refuses everything. */
  url: string;
  /** The requests of the main loop, oldest first. */
  requests: MessagesRequest[];
  /** The requests of all subagents, oldest first. */
  subagentRequests: MessagesRequest[];
  /** What a test must not ignore: steps that threw, and addresses that were asked for through the proxy. */
  problems: Error[];
  close(): Promise<void>;
};

/** What is said when the script has run out: it calls no tool, so it ends the turn. */
const FALLBACK = "ok.";
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
 *
 * It also listens as an HTTP proxy, so that a client whose `HTTPS_PROXY` it is cannot reach anything else unseen.
 */
export async function startMessagesApi({ script = [], subagents = [] }: Script): Promise<MessagesApi> {
  const main = { steps: [...script], requests: [] as MessagesRequest[] };
  const sub = { steps: [...subagents], requests: [] as MessagesRequest[] };
  const problems: Error[] = [];

  const server = createServer(async (request, response) => {
    try {
      const body = await readBody(request);
      const path = new URL(request.url ?? "/", "http://127.0.0.1").pathname;
      if (/^https?:/.test(request.url ?? "")) {
        problems.push(stray(request.url));
        sendJson(response, 403, apiError("permission_error", "this proxy lets nothing through"));
      } else if (request.method === "POST" && path === "/v1/messages/count_tokens") {
        sendJson(response, 200, { input_tokens: 100 });
      } else if (request.method === "POST" && path === "/v1/messages") {
        sendAnswer(response, body, await answerTo(request, body));
      } else {
        sendJson(response, 404, apiError("not_found_error", `no such path: ${path}`));
      }
    } catch (error) {
      problems.push(error instanceof Error ? error : new Error(String(error)));
      sendJson(response, 400, apiError("invalid_request_error", messageOf(error)));
    }
  });
  server.on("connect", (request, socket) => {
    problems.push(stray(request.url));
    socket.on("error", () => {});
    socket.end("HTTP/1.1 403 Forbidden\r\nConnection: close\r\n\r\n");
  });

  async function answerTo(request: IncomingMessage, body: MessagesRequest): Promise<Answer> {
    if (!body.tools?.length) return UTILITY;
    if (SUMMARY_WANTED.test(textsOf(body.messages.at(-1)?.content).join("\n"))) return SUMMARY;
    const { steps, requests } = request.headers["x-claude-code-agent-id"] === undefined ? main : sub;
    requests.push(body);
    const step = steps.shift() ?? FALLBACK;
    return typeof step === "function" ? await step(body) : step;
  }

  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, "127.0.0.1", resolve);
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests: main.requests,
    subagentRequests: sub.requests,
    problems,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function stray(target: string | undefined): Error {
  return new Error(`messages-api: the client tried to reach ${target}; tests stay on 127.0.0.1`);
}

function apiError(type: string, message: string): unknown {
  return { type: "error", error: { type, message } };
}

async function readBody(request: IncomingMessage): Promise<MessagesRequest> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  const text = Buffer.concat(chunks).toString("utf8");
  return text ? JSON.parse(text) : { model: "", messages: [] };
}

function sendJson(response: ServerResponse, status: number, value: unknown): void {
  if (response.destroyed) return;
  response.writeHead(status, { "content-type": "application/json", "x-should-retry": "false" });
  response.end(JSON.stringify(value));
}

/** One assistant message, as a stream of events or as a whole, whichever the request asked for. */
function sendAnswer(response: ServerResponse, request: MessagesRequest, answer: Answer): void {
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
  if (response.destroyed) return;

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
  response.writeHead(200, { "content-type": "text/event-stream" });
  response.end(events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join(""));
}

/** A piece of text that a request holds: a string message, a text block or the text of a tool result. */
export type Piece = { role: string; text: string };

/**
 * For each request, in order, the pieces that the request before it did not hold. A piece that is there twice
 * where it was once before counts as new once. Of the first request all pieces are new.
 */
export function newTexts(requests: readonly MessagesRequest[]): Piece[][] {
  return requests.map((request, index) => {
    const known = (requests[index - 1]?.messages ?? []).flatMap(piecesOf).map(keyOf);
    return request.messages.flatMap(piecesOf).filter((piece) => {
      const at = known.indexOf(keyOf(piece));
      if (at >= 0) known.splice(at, 1);
      return at < 0;
    });
  });
}

/**
 * How often each request newly shows the model `text`, in whatever role or place: `[0, 1, 0]` is "in the second
 * request, once, and never again". What the model said itself does not count.
 */
export function timesShown(requests: readonly MessagesRequest[], text: string): number[] {
  return newTexts(requests).map((pieces) =>
    pieces
      .filter((piece) => piece.role !== "assistant")
      .reduce((count, piece) => count + piece.text.split(text).length - 1, 0),
  );
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

function keyOf({ role, text }: Piece): string {
  return `${role}\n${text.trim()}`;
}
