import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod/mini";
import { HARNESSES, type Harness } from "../client.ts";
import { SCOPES, type Scope, sameFile } from "./paths.ts";

/** A path that leads to no other folder. */
const inside = z.string().check(z.refine((path) => !/^\/|(^|\/)\.\.(\/|$)/.test(path)));

/** `installed.json`: what was written and by what, so that exactly that can be taken back. */
const MANIFEST = z.object({
  version: z.string(),
  /** The program that runs the hooks. */
  node: z.string(),
  /** The version of Claude Code that the entries are for, when it was known. */
  client: z.optional(z.string()),
  /** The `signals` command, when it could be written. */
  command: z.nullable(z.string()),
  /** In the folder of the installation: each file and its SHA-256 in hex. */
  files: z.record(inside, z.string()),
  /** The command that installs the same once more, from where it came. */
  again: z.string(),
  /** The outermost folders that were made for all this. */
  made: z._default(z.array(z.string()), []),
  /** By path. */
  settings: z.record(
    z.string(),
    z.object({
      harness: z.enum(HARNESSES),
      scope: z.enum(SCOPES),
      /** The outermost folder that was made for it. */
      folder: z.optional(z.string()),
      before: z.record(z.string(), z.nullable(z.string())),
    }),
  ),
  /** What runs the monitors. */
  service: z.optional(
    z.object({
      /** The file that describes it to its manager, and the SHA-256 of what was written there. */
      path: z.string(),
      hash: z.string(),
      /** What it has as PATH. */
      PATH: z.string(),
      /** The inbox that it is told of. */
      dir: z.optional(z.string()),
    }),
  ),
  /** What Codex was told to trust, by the config.toml that says so. */
  trust: z.optional(
    z.record(
      z.string(),
      z.object({
        /** What the file was; null for none. */
        before: z.nullable(
          z.object({
            /** The SHA-256 of its text, and of what it said, in whichever form. */
            hash: z.string(),
            says: z.string(),
            mode: z.number(),
            /** Whether it spoke of any hook. */
            states: z.boolean(),
          }),
        ),
        /** By the key of the hook. */
        hooks: z.record(
          z.string(),
          z.object({
            /** The settings file that it is in. */
            settings: z.string(),
            /** What was written as trusted. */
            hash: z.string(),
            /** What stood there before. */
            was: z.optional(z.string()),
          }),
        ),
      }),
    ),
  ),
});

export type Manifest = z.infer<typeof MANIFEST>;
export type TrustRecord = NonNullable<Manifest["trust"]>[string];

/** Undefined when there is none, or none that can be read: then an installation is known by its launcher's path. */
export function readManifest(file: string): Manifest | undefined {
  try {
    return MANIFEST.parse(JSON.parse(readFileSync(file, "utf8")));
  } catch {
    return undefined;
  }
}

/** What is kept of a settings file, by whichever path it was reached. */
export function recordOf(manifest: Manifest | undefined, path: string) {
  const found = Object.entries(manifest?.settings ?? {}).find(([known]) => sameFile(known, path));
  return found && { path: found[0], ...found[1] };
}

/** The clients that have hooks of ours, in the settings of a scope or anywhere. */
export function clientsIn(manifest: Manifest | undefined, scope?: Scope): Harness[] {
  const all = Object.values(manifest?.settings ?? {}).filter(
    (one) => scope === undefined || one.scope === scope,
  );
  return HARNESSES.filter((harness) => all.some((one) => one.harness === harness));
}

/** The SHA-256 of a text, in hex. */
export function hashOf(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

/** The files of an installation that are not there any more, or not as they were written. */
export function damagedFiles(folder: string, { files }: Manifest): string[] {
  return Object.entries(files).flatMap(([file, hash]) => {
    try {
      return hashOf(readFileSync(join(folder, file), "utf8")) === hash ? [] : [file];
    } catch {
      return [file];
    }
  });
}

/** Its text, as it is written. */
export function manifestText(manifest: Manifest): string {
  return `${JSON.stringify(manifest, undefined, 2)}\n`;
}
