import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { cpSync, readFileSync, symlinkSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { basename, join } from "node:path";
import { promisify } from "node:util";
import { ROOT } from "./process.ts";
import { tempDirectory } from "./temp.ts";

/** Packs the package as `npm publish` would, its bundles built afresh, and returns the file. */
export async function packPackage(): Promise<string> {
  // In a copy, since packing rebuilds `dist`, which hooks may be running from.
  const copy = join(tempDirectory("package"), "copy");
  const left = [".git", "node_modules", "dist"];
  cpSync(ROOT, copy, { recursive: true, filter: (path) => !left.includes(basename(path)) });
  symlinkSync(join(ROOT, "node_modules"), join(copy, "node_modules"));
  await promisify(execFile)("npm", ["pack"], { cwd: copy });
  const { name, version } = manifest();
  return join(copy, `${name}-${version}.tgz`);
}

function manifest(): { name: string; version: string } {
  return JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
}

/** A stand-in for the npm registry on 127.0.0.1, which has one package: ours, as it is in this file. */
export async function startNpmRegistry(tarball: string): Promise<{ url: string; close(): Promise<void> }> {
  const bytes = readFileSync(tarball);
  const { name, version, ...rest } = manifest();
  const server = createServer((request, response) => {
    if (request.url === `/${name}/-/${name}-${version}.tgz`) {
      response.end(bytes);
    } else if (request.url === `/${name}`) {
      const dist = {
        tarball: `${url}/${name}/-/${name}-${version}.tgz`,
        integrity: `sha512-${createHash("sha512").update(bytes).digest("base64")}`,
      };
      const versions = { [version]: { name, version, ...rest, dist } };
      response.setHeader("content-type", "application/json");
      response.end(JSON.stringify({ name, "dist-tags": { latest: version }, versions }));
    } else {
      response.writeHead(404).end("{}");
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
