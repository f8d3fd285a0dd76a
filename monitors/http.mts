#!/usr/bin/env tsx
/**
 * Watches an address: whether it answers, with the right status and content, fast enough, with a certificate that lasts.
 *
 *   usage      signals monitor http URL [--contains TEXT] [--slower 2s] [--every 60s] [flags]
 *   URL        http(s), with user:password@ if it wants them; these and the query are shown nowhere
 *   answer     CRITICAL without an answer --within 10s, with another status than --status 200-299 (such as
 *              200-299,401), or without TEXT in the first MiB of its content; else content is not read
 *   redirects  are followed, ten at most, as curl -fL does; one that --status names is the answer
 *   latency    WARNING when it took longer than --slower to begin its answer, redirects included
 *   cert       WARNING with less than --cert-days 14 left, CRITICAL when it has ended or is not accepted
 *   send       --header 'Name: value', as often as needed; to no other server that it redirects to
 *   signal     one each for answer, latency and certificate, fired and resolved by two polls in a row. CRITICAL is
 *              urgent, which keeps an agent from stopping: --severity warning for what can wait, such as staging.
 *              Other thresholds are other signals.
 *
 * Reads     the address, by one GET without a proxy. A machine that is offline itself is UNKNOWN.
 * Prints    one line with the status and what was seen; --json for the whole report.
 * Exits     0 OK, 1 WARNING, 2 CRITICAL, 3 UNKNOWN.
 * Needs     nothing; NODE_EXTRA_CA_CERTS names the certificate of an authority of one's own.
 */
import { runMonitor } from "ambient-signals/monitor";
import { HTTP_FLAGS, HTTP_TIMEOUT, lookAtHttp } from "ambient-signals/pack";

await runMonitor(import.meta.url, {
  flags: HTTP_FLAGS,
  required: ["URL"],
  provider: "http",
  why: "What depends on this address fails, or waits in vain, until it answers as it should.",
  action:
    "If the work at hand may have broken it or needs it, look at what it answers before going on; else go on.",
  timeout: HTTP_TIMEOUT,
  fire: { polls: 2 },
  resolve: { polls: 2 },
  check: ({ now, signal, args: [url = ""], flags }) => lookAtHttp({ now, signal }, url, flags),
});
