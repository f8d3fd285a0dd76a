import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, realpathSync, symlinkSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join, relative } from "node:path";
import { describe, test } from "node:test";
import fc from "fast-check";
import { attempt } from "../errors.ts";
import { tempDirectory } from "../testing/temp.ts";
import { filesOf, MOST_CHOICES, MOST_FILES } from "./glob.ts";

const never = new AbortController().signal;

/** A folder with these files, empty ones. */
function tree(...files: string[]): string {
  const root = realpathSync(tempDirectory("glob"));
  for (const file of files) {
    mkdirSync(dirname(join(root, file)), { recursive: true });
    writeFileSync(join(root, file), "");
  }
  return root;
}

/** The paths that a glob names in a folder, relative to it, in order. */
async function named(root: string, glob: string, cwd = root): Promise<string[]> {
  const found = await filesOf(glob, cwd, never);
  return found.map(({ path }) => relative(root, path)).sort();
}

describe("a glob names what it names in a shell:", () => {
  const root = tree(
    "a.dmp",
    "b.dmp",
    ".c.dmp",
    "n.txt",
    "x[1].dmp",
    "sub/a.dmp",
    "sub/deep/a.dmp",
    ".git/a.dmp",
    "sub/.hid/a.dmp",
    "a-z/-.txt",
  );
  mkdirSync(join(root, "folder.dmp"));
  const rows: [glob: string, files: string[]][] = [
    ["*.dmp", ["a.dmp", "b.dmp", "x[1].dmp"]],
    ["a.dmp", ["a.dmp"]],
    ["./a.dmp", ["a.dmp"]],
    ["sub/../sub//a.dmp", ["sub/a.dmp"]],
    ["?.dmp", ["a.dmp", "b.dmp"]],
    ["[ab].dmp", ["a.dmp", "b.dmp"]],
    ["[!a].dmp", ["b.dmp"]],
    ["[^a].dmp", ["b.dmp"]],
    ["[b-z].*", ["b.dmp", "n.txt"]],
    ["x[[]1[]]*", ["x[1].dmp"]],
    ["x\\[1\\].dmp", ["x[1].dmp"]],
    ["x\\[*", ["x[1].dmp"]],
    ["x[*", ["x[1].dmp"]],
    ["a[\\-x]z/*", ["a-z/-.txt"]],
    ["{a,n}.{dmp,txt}", ["a.dmp", "n.txt"]],
    ["{n.txt,sub/{deep/,}a.dmp}", ["n.txt", "sub/a.dmp", "sub/deep/a.dmp"]],
    ["{a}.dmp", []],
    ["\\{a,b}.dmp", []],
    [".*.dmp", [".c.dmp"]],
    ["\\.*.dmp", [".c.dmp"]],
    ["*/a.dmp", ["sub/a.dmp"]],
    ["**/a.dmp", ["a.dmp", "sub/a.dmp", "sub/deep/a.dmp"]],
    ["**/**/deep/**", ["sub/deep/a.dmp"]],
    ["sub/**/.hid/*", ["sub/.hid/a.dmp"]],
    ["su**/a.dmp", ["sub/a.dmp"]],
    ["*.(dmp|txt)", []],
    ["A.dmp", []],
    ["no/such/*.dmp", []],
    ["a.dmp/*", []],
    ["a.dmp/x", []],
  ];
  for (const [glob, files] of rows)
    test(`${glob} is ${files.join(" ") || "nothing"}`, async () => {
      assert.deepEqual(await named(root, glob), files);
      assert.deepEqual(await named(root, `${root}/${glob}`, "/"), files, "from elsewhere");
    });

  test("~/ is the home directory", async () => {
    assert.deepEqual(await named(root, "~/no-such-file-*"), []);
    await assert.rejects(filesOf("~/.", "/", never), { message: new RegExp(`^${homedir()}: is a folder`) });
  });

  test("and what is none is a mistake", async () => {
    const rows: [glob: string, name: string, message: RegExp][] = [
      ["", "UsageError", /^GLOB: is empty; /],
      [" ", "UsageError", /^GLOB: is empty; /],
      ["{a,b}".repeat(40), "UsageError", /^GLOB: .*: its braces leave more than 1000 choices; write fewer$/],
      ["[z-a]", "UsageError", /^GLOB: \[z-a\]: is no pattern; /],
      ["sub/", "UsageError", /^GLOB: sub\/: names a folder; write 'sub\/\*' for the files in it$/],
      ["sub", "SignalsError", /\/sub: is a folder; write 'sub\/\*' for the files in it$/],
      ["{n.txt,sub}", "SignalsError", /\/sub: is a folder; /],
    ];
    for (const [glob, name, message] of rows)
      await assert.rejects(filesOf(glob, root, never), { name, message }, glob);
  });
});

const globstar = attempt(() => execFileSync("bash", ["-c", "shopt -s globstar"], { stdio: "pipe" }));

test("any glob names what it names in bash", {
  skip: globstar === undefined && "there is no bash that knows **",
}, async () => {
  const names = ["a", "b", "ab", "a.b", ".a", "a-b"];
  const root = tree(
    ...names,
    ...names.flatMap((name) => names.map((inner) => `${name}.d/${inner}`)),
    ...names.map((name) => `.h/${name}.d/${name}`),
  );
  const pieces = fc.constantFrom(..."a b * ? . - [ab] [!a] [a-] []a] {a,b} \\*".split(" "));
  const part = fc
    .oneof(fc.constant("**"), fc.string({ unit: pieces, minLength: 1, maxLength: 4 }))
    // Folders, which are of no use here.
    .filter((name) => !/^\.+$/.test(name));
  const some = fc.sample(fc.array(part, { minLength: 1, maxLength: 3 }), 300).map((parts) => parts.join("/"));
  const script =
    'shopt -s globstar nullglob; for glob; do eval "set -- $glob"; for path; do [ -f "$path" ] && echo "$path"; done | sort -u; echo =; done';
  const said = execFileSync("bash", ["-c", script, "bash", ...some], {
    cwd: root,
    encoding: "utf8",
    maxBuffer: 1e8,
  });
  const expected = said.split("=\n");
  assert.equal(expected.length, some.length + 1);
  for (const [i, glob] of some.entries()) {
    const found = await named(root, glob).catch((error) => {
      // They are of no use, so they are a mistake.
      if (/is a folder/.test(error.message)) return [];
      throw error;
    });
    const lines = expected[i]?.split("\n").filter(Boolean);
    assert.deepEqual(found, lines?.map((path) => join(path)).sort(), glob);
  }
});

describe("no file is passed over:", () => {
  test("names with line breaks, control characters, backslashes and those of a pattern", async () => {
    const names = [
      "a\nb.dmp",
      "\x1b[2J.dmp",
      "back\\slash.dmp",
      "*.dmp",
      " .dmp",
      "\u{1f4a5}.dmp",
      "__proto__.dmp",
    ];
    const files = names.flatMap((name) => [name, `fol\nder/${name}`]).sort();
    assert.deepEqual(await named(tree(...files), "**/*.dmp"), files);
    assert.deepEqual(
      await named(tree(...files), "fol?der/?.dmp"),
      ["fol\nder/ .dmp", "fol\nder/*.dmp", "fol\nder/\u{1f4a5}.dmp"].sort(),
    );
  });

  test("links count as what they lead to, and lead nowhere without harm", async () => {
    const root = tree("real/a.dmp", "real/b/c.dmp");
    symlinkSync("a.dmp", join(root, "real/link.dmp"));
    symlinkSync("nowhere", join(root, "real/broken.dmp"));
    symlinkSync("circle.dmp", join(root, "real/circle.dmp"));
    symlinkSync("b", join(root, "real/folder.dmp"));
    symlinkSync(".", join(root, "real/self"));
    symlinkSync("real", join(root, "linked"));
    assert.deepEqual(await named(root, "real/*.dmp"), ["real/a.dmp", "real/link.dmp"]);
    assert.deepEqual(await named(root, "linked/*.dmp"), ["linked/a.dmp", "linked/link.dmp"]);
    assert.deepEqual(await named(root, "*/a.dmp"), ["linked/a.dmp", "real/a.dmp"]);
    assert.deepEqual(await named(root, "**/?.dmp"), ["real/a.dmp", "real/b/c.dmp"], "** follows none");
  });

  test("pipes and devices are no files", { skip: process.platform === "win32" && "has none" }, async () => {
    const root = tree("a.dmp");
    execFileSync("mkfifo", [join(root, "pipe.dmp")]);
    assert.deepEqual(await named(root, "*.dmp"), ["a.dmp"]);
    assert.deepEqual(await named("/dev", "nul?"), []);
  });

  test("a name that is no UTF-8 is told, since it cannot be looked at", {
    skip: process.platform !== "linux" && "only Linux has such names",
  }, async () => {
    const root = tree("a.dmp");
    writeFileSync(Buffer.concat([Buffer.from(`${root}/`), Buffer.from([0xff]), Buffer.from(".dmp")]), "");
    const refused = { name: "SignalsError", message: /\ufffd\.dmp: cannot be looked at \(ENOENT\)$/ };
    await assert.rejects(filesOf("*.dmp", root, never), refused);
    assert.deepEqual(await named(root, "a*"), ["a.dmp"]);
  });

  test("what the system does not let us see", async () => {
    const long = "x".repeat(300);
    for (const glob of [`${long}/*`, long, `**/${long}`])
      await assert.rejects(filesOf(glob, tree("a"), never), {
        name: "SignalsError",
        message: /x: cannot be looked at \(ENAMETOOLONG\)$/,
      });
  });

  test("a folder that we may not read, or not enter", async () => {
    for (const [mode, glob] of [
      [0o000, "shut/*"],
      [0o000, "**/*.dmp"],
      [0o000, "*/a.dmp"],
      [0o000, "shut/a.dmp"],
      [0o400, "shut/a.dmp"],
    ] as const) {
      const root = tree("shut/a.dmp");
      chmodSync(root, 0o755);
      chmodSync(join(root, "shut"), mode);
      const message = /shut(\/a\.dmp)?: cannot be looked at \(EACCES\)$/;
      await asNobody(() =>
        assert.rejects(filesOf(glob, root, never), { name: "SignalsError", message }, glob),
      );
      chmodSync(join(root, "shut"), 0o700);
    }
  });
});

/** Root may read everything, so it is somebody else meanwhile. */
async function asNobody(work: () => Promise<void>): Promise<void> {
  const isRoot = process.getuid?.() === 0;
  if (isRoot) process.seteuid?.(65534);
  try {
    await work();
  } finally {
    if (isRoot) process.seteuid?.(0);
  }
}

test("as many choices as are told may be in braces, and not one more", async () => {
  const root = tree("x0", "x999", "x1000");
  const choices = (count: number) => `x{${Array.from({ length: count }, (_, i) => i).join(",")}}`;
  assert.deepEqual(await named(root, choices(MOST_CHOICES)), ["x0", "x999"]);
  await assert.rejects(filesOf(choices(MOST_CHOICES + 1), root, never), { name: "UsageError" });
});

test("too many files are refused, and so is what has to stop", async () => {
  const root = tree("sub/0");
  const names = Array.from({ length: MOST_FILES - 1 }, (_, i) => `${i + 1}`).join(" ");
  execFileSync("xargs", ["touch"], { cwd: join(root, "sub"), input: names });
  assert.equal((await filesOf("**", root, never)).length, MOST_FILES);
  writeFileSync(join(root, "more.dmp"), "");
  await assert.rejects(filesOf("**", root, never), {
    name: "SignalsError",
    message: `**: matches more than ${MOST_FILES} files; name fewer`,
  });
  await assert.rejects(filesOf("*", root, AbortSignal.abort()), { name: "AbortError" });
});
