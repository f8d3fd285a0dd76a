import { shellWord } from "../text.ts";

/**
 * The script that settings name, so that they stay the same whatever version and whichever node: `launch
 * hooks/claude-code/stop` runs that bundle in `folder` with `node`, or with the one on PATH when that is gone. Where
 * node or the bundle is missing a hook says so once, at the start of a session, and lets the agent work; a script
 * exits 127.
 *
 * It runs on every tool call: no process but the shell, which becomes node.
 */
export function launcherText(folder: string, node: string): string {
  const noNode = `node: there is none at ${node} and none on PATH; install Node 20 or newer`;
  const noFile = `installation: files are gone from ${folder}; install again, or see what signals doctor says`;
  return `#!/bin/sh
# Runs one of the files beside it, as in: launch hooks/claude-code/stop. Written by signals install.
node=${shellWord(node)}
file=${shellWord(folder)}/$1.mjs
[ -x "$node" ] || node=$(command -v node)
if [ -z "$node" ]; then
  error=${shellWord(`error: ${noNode}`)} told=${shellWord(toldOf(noNode))}
elif [ ! -f "$file" ]; then
  error=${shellWord(`error: ${noFile}`)} told=${shellWord(toldOf(noFile))}
else
  shift
  exec "$node" "$file" "$@"
fi
case $1 in
  hooks/*/session-start) printf '%s\\n' "$told" ;;
  hooks/*) ;;
  *)
    printf '%s\\n' "$error" >&2
    exit 127
    ;;
esac
`;
}

/** What a hook prints for the person. */
function toldOf(trouble: string): string {
  return JSON.stringify({
    systemMessage: `ambient-signals: ${trouble}; until then this session hears of no signal`,
  });
}

/** The script that people type as `signals`. */
export function commandText(launcher: string): string {
  const gone = `error: signals: ${launcher} is gone; install again: npx tsx scripts/install.mts in a clone`;
  return `#!/bin/sh
[ -x ${shellWord(launcher)} ] || { printf '%s\\n' ${shellWord(gone)} >&2; exit 127; }
exec ${shellWord(launcher)} scripts/signals "$@"
`;
}
