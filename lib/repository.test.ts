import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import {
  mkdirSync,
  mkdtempSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { after, describe, test } from "node:test";
import fc from "fast-check";
import { locate } from "./checkout.ts";
import { isWithin, repositoryOf, sameRepository } from "./repository.ts";

const root = realpathSync.native(mkdtempSync(join(tmpdir(), "repository-test-")));
after(() => rmSync(root, { recursive: true, force: true }));

const { PATH } = process.env;
const env = {
  PATH,
  HOME: root,
  GIT_CONFIG_GLOBAL: "/dev/null",
  GIT_CONFIG_NOSYSTEM: "1",
  GIT_TERMINAL_PROMPT: "0",
};

function git(cwd: string, ...args: string[]): string {
  const who = [
    "-c",
    "user.name=Test",
    "-c",
    "user.email=test@example.com",
    "-c",
    "protocol.file.allow=always",
  ];
  return execFileSync("git", [...who, ...args], { cwd, env, encoding: "utf8", stdio: "pipe" }).trim();
}

function folder(...names: string[]): string {
  const path = join(root, ...names);
  mkdirSync(path, { recursive: true });
  return path;
}

/** A repository with one commit and, when given, a remote `origin`. */
function repo(name: string, origin?: string): string {
  const path = folder(name);
  git(path, "init", "--quiet");
  git(path, "commit", "--quiet", "--allow-empty", "--message", "first");
  if (origin) git(path, "remote", "add", "origin", origin);
  return path;
}

/** The least that counts as a repository, with this config. */
function bareBones(name: string, config: string | Buffer): string {
  const path = folder(name);
  folder(name, ".git", "objects");
  folder(name, ".git", "refs");
  writeFileSync(join(path, ".git", "HEAD"), "ref: refs/heads/main\n");
  writeFileSync(join(path, ".git", "config"), config);
  return path;
}

describe("locate", () => {
  test("finds the work tree and the repository from any folder below", () => {
    const path = repo("plain", "git@github.com:Acme/Shop.git");
    const deep = folder("plain", "src", "deep");
    const place = { work_tree: path, repository: "github.com/acme/shop" };
    assert.deepEqual(locate(path), { cwd: path, ...place });
    assert.deepEqual(locate(deep), { cwd: deep, ...place });
    assert.deepEqual(locate(relative(process.cwd(), deep)), { cwd: deep, ...place });
    assert.deepEqual(locate(join(path, ".git", "HEAD")).work_tree, path);
  });

  test("goes by the real path, not by the symlink that led there", () => {
    const path = repo("real", "https://github.com/acme/real");
    const inside = folder("real", "inside");
    symlinkSync(inside, join(root, "link"));
    assert.deepEqual(locate(join(root, "link")), {
      cwd: inside,
      work_tree: path,
      repository: "github.com/acme/real",
    });
  });

  test("follows a .git that is a symlink to a directory", () => {
    const path = repo("moved", "https://github.com/acme/moved");
    renameSync(join(path, ".git"), join(root, "moved.store"));
    symlinkSync(join(root, "moved.store"), join(path, ".git"));
    assert.equal(locate(path).repository, "github.com/acme/moved");
  });

  test("knows no repository without a remote, and none for a remote on this machine", () => {
    const path = repo("lonely");
    assert.deepEqual(locate(path), { cwd: path, work_tree: path });
    git(path, "remote", "add", "origin", join(root, "plain"));
    git(path, "remote", "add", "other", "https://github.com/acme/other");
    assert.deepEqual(locate(path), { cwd: path, work_tree: path });
  });

  test("prefers origin, then the first remote", () => {
    const path = repo("several");
    git(path, "remote", "add", "zulu", "https://github.com/acme/zulu");
    assert.equal(locate(path).repository, "github.com/acme/zulu");
    git(path, "remote", "add", "alpha", "https://github.com/acme/alpha");
    assert.equal(locate(path).repository, "github.com/acme/zulu");
    git(path, "remote", "add", "origin", "https://github.com/acme/origin");
    assert.equal(locate(path).repository, "github.com/acme/origin");
  });

  test("finds the remotes of a linked worktree in the common directory", () => {
    const path = repo("main", "https://github.com/acme/main");
    const linked = join(root, "linked");
    git(path, "worktree", "add", "--quiet", linked);
    const place = { work_tree: linked, repository: "github.com/acme/main" };
    assert.deepEqual(locate(linked), { cwd: linked, ...place });

    // Newer versions of git can write this path relative to the work tree.
    writeFileSync(join(linked, ".git"), "gitdir: ../main/.git/worktrees/linked\r\n");
    assert.deepEqual(locate(folder("linked", "sub")), { cwd: join(linked, "sub"), ...place });
  });

  test("finds the remotes of a bare repository's worktree", () => {
    const bare = join(root, "bare.git");
    git(root, "clone", "--quiet", "--bare", repo("seed"), bare);
    git(bare, "remote", "set-url", "origin", "https://github.com/acme/bare");
    const linked = join(root, "from-bare");
    git(bare, "worktree", "add", "--quiet", linked);
    assert.equal(locate(linked).repository, "github.com/acme/bare");
    assert.equal(locate(bare).repository, undefined);
  });

  test("tells a submodule from the repository around it", () => {
    const outer = repo("outer", "https://github.com/acme/outer");
    git(outer, "submodule", "--quiet", "add", repo("library"), "lib");
    const inner = join(outer, "lib");
    git(inner, "remote", "set-url", "origin", "https://github.com/acme/library");
    assert.deepEqual(locate(inner), {
      cwd: inner,
      work_tree: inner,
      repository: "github.com/acme/library",
    });

    // A submodule of a linked worktree has its git directory below that worktree's.
    const linked = join(root, "outer-linked");
    git(outer, "commit", "--quiet", "--message", "library");
    git(outer, "worktree", "add", "--quiet", linked);
    git(linked, "submodule", "--quiet", "update", "--init");
    git(join(linked, "lib"), "remote", "set-url", "origin", "https://github.com/acme/nested");
    assert.equal(locate(join(linked, "lib")).repository, "github.com/acme/nested");
  });

  test("passes over a .git that is no repository", () => {
    const path = repo("around", "https://github.com/acme/around");
    const cases: Record<string, (git: string) => void> = {
      empty: (git) => mkdirSync(git),
      "other file": (git) => writeFileSync(git, "hello\n"),
      "no path": (git) => writeFileSync(git, "gitdir: \n"),
      "dead end": (git) => writeFileSync(git, "gitdir: ../nowhere\n"),
      "not a path": (git) => writeFileSync(git, "gitdir: a\0b\n"),
      huge: (git) => writeFileSync(git, `gitdir: ${join(path, ".git")}${"\n".repeat(1 << 20)}`),
      loop: (git) => symlinkSync(git, git),
      pipe: (git) => execFileSync("mkfifo", [git]),
    };
    for (const [name, create] of Object.entries(cases)) {
      const below = folder("around", name);
      create(join(below, ".git"));
      assert.deepEqual(
        locate(below),
        { cwd: below, work_tree: path, repository: "github.com/acme/around" },
        name,
      );
    }
  });

  test("follows a gitfile written by hand, and needs no branch to exist", () => {
    const path = folder("by-hand");
    git(root, "init", "--quiet", "--bare", "store");
    git(join(root, "store"), "remote", "add", "origin", "https://github.com/acme/store");
    rmSync(join(root, "store", "HEAD"));
    symlinkSync("refs/heads/unborn", join(root, "store", "HEAD"));
    for (const target of ["../store", join(root, "store"), `${root}/store/`]) {
      writeFileSync(join(path, ".git"), `gitdir: ${target}`);
      assert.deepEqual(locate(path), {
        cwd: path,
        work_tree: path,
        repository: "github.com/acme/store",
      });
    }
  });

  test("keeps the work tree when the config is missing, huge, a folder or unreadable text", () => {
    const good = '[remote "origin"]\nurl = https://github.com/acme/good\n';
    const path = bareBones("no-config", good);
    const config = join(path, ".git", "config");
    assert.equal(locate(path).repository, "github.com/acme/good");
    const nothing = { cwd: path, work_tree: path };

    writeFileSync(config, `${good}${"#".repeat(1 << 20)}`);
    assert.deepEqual(locate(path), nothing);
    writeFileSync(config, Buffer.from([0, 255, 254, 91, 0]));
    assert.deepEqual(locate(path), nothing);
    rmSync(config);
    assert.deepEqual(locate(path), nothing);
    mkdirSync(config);
    assert.deepEqual(locate(path), nothing);
  });

  test("returns the resolved path of a folder that does not exist", () => {
    assert.deepEqual(locate(join(root, "plain", "gone", "..", "missing")), {
      cwd: join(root, "plain", "missing"),
    });
    assert.deepEqual(locate("missing"), { cwd: join(process.cwd(), "missing") });
    assert.equal(locate("/a\0b").work_tree, undefined);
    assert.deepEqual(locate("/"), { cwd: "/" });
  });

  test("reads a config that was made to be slow in good time", () => {
    const size = (1 << 20) - 100;
    const tails = ['"', "\\q", 'a"'];
    for (const piece of ["a", '""', '"a', '\\"', "a\\\n", " ", "[", "a\n", "[a]", "\n", "\r"]) {
      for (const tail of tails) {
        const path = bareBones(
          "slow",
          `[remote "origin"]\nurl = ${piece.repeat(size / piece.length)}${tail}`,
        );
        const started = process.cpuUsage();
        locate(path);
        const spent = process.cpuUsage(started);
        assert.ok(spent.user + spent.system < 2_000_000, `${JSON.stringify(piece)} ${JSON.stringify(tail)}`);
      }
    }
  });
});

describe("the config of a repository is read as git reads it", () => {
  const url = "https://github.com/acme/shop";
  const shop = "github.com/acme/shop";
  const cases: [name: string, config: string, expected: string | undefined][] = [
    ["as git writes it", `[core]\n\tbare = false\n[remote "origin"]\n\turl = ${url}\n\tfetch = +a:b\n`, shop],
    ["no spaces", `[remote "origin"]\nurl=${url}`, shop],
    ["all on one line", `[core] bare = false\n[remote "origin"] url = ${url}`, shop],
    ["section and key in capitals", `[REMOTE "origin"]\nURL = ${url}`, shop],
    ["subsection in capitals is another remote", `[remote "Origin"]\nurl = ${url}/x`, undefined],
    ["old form of a subsection", `[Remote.Origin]\nurl = ${url}`, shop],
    [
      "comment lines",
      `# [remote "no"]\n; url = no\n[remote "origin"] # here\n; url = no/no\nurl = ${url}`,
      shop,
    ],
    ["comments after a value", `[remote "origin"]\nurl = ${url} # url = x\n`, shop],
    ["semicolon after a value", `[remote "origin"]\nurl = ${url};old\\\n`, shop],
    ["quoted value", `[remote "origin"]\nurl = "${url}"\n`, shop],
    ["partly quoted value", `[remote "origin"]\nurl = https://"github.com"/acme/shop\n`, shop],
    ["quoted comment sign", `[remote "origin"]\nurl = "${url};x" ; y\n`, `${shop};x`],
    ["escapes", `[remote "origin"]\nurl = ${url}\\"x\\\\\n`, undefined],
    ["line continuation", `[remote "origin"]\nurl = https://github.com\\\n/acme/\\\nshop\n`, shop],
    ["line continuation in quotes", `[remote "origin"]\nurl = "https://github.com/\\\nacme/shop"\n`, shop],
    ["line continuation, CRLF", `[remote "origin"]\r\nurl = https://github.com\\\r\n/acme/shop\r\n`, shop],
    ["line continuation at the end", `[remote "origin"]\nurl = ${url}\\`, shop],
    ["line continuation before the end", `[remote "origin"]\nurl = ${url}\\\n\n`, shop],
    ["continued comment is none", `[remote "origin"]\n# x \\\nurl = ${url}\n`, shop],
    ["first of several URLs", `[remote "origin"]\nurl = ${url}\nurl = https://b.c/d/e\n`, shop],
    [
      "several sections of one remote",
      `[remote "origin"]\nfetch = x\n[core]\nurl = no\n[remote "origin"]\nurl = ${url}`,
      shop,
    ],
    ["other keys", `[remote "origin"]\npushurl = https://b.c/d/e\nurl = ${url}\n`, shop],
    ["a key without value", `[core]\nbare\n[remote "origin"]\nprune\nurl = ${url}\n`, shop],
    [
      "a longer section name",
      `[remotes "origin"]\nurl = https://b.c/d/e\n[remote "origin"]\nurl = ${url}`,
      shop,
    ],
    ["BOM", `\ufeff[remote "origin"]\nurl = ${url}\n`, shop],
    ["CRLF", `[remote "origin"]\r\n\turl = ${url}\r\n\r\n[core]\r\n`, shop],
    ["white space at the end", `[remote "origin"]  \n \t url \t= \t${url} \t \n \n`, shop],
    ["escaped quotes in a name", `[remote "a\\"]\\\\"]\nurl = no\n[remote "origin"]\nurl = ${url}`, shop],
    ["needlessly escaped name", `[remote "\\origin"]\nurl = ${url}`, shop],
    ["refused: quote not closed", `[remote "origin"]\nurl = ${url}\nx = "a\n`, undefined],
    ["refused: unknown escape", `[remote "origin"]\nurl = ${url}\nx = \\q\n`, undefined],
    ["refused: text after a key", `[remote "origin"]\nurl = ${url}\nx y\n`, undefined],
    ["refused: header not closed", `[remote "origin"\nurl = ${url}\n`, undefined],
    ["refused: key that starts with a digit", `[remote "origin"]\nurl = ${url}\n1x = y\n`, undefined],
  ];

  for (const [name, config, expected] of cases) {
    test(name, () => {
      const path = bareBones("config", config);
      let told: string | undefined;
      try {
        told = repositoryOf(git(path, "remote", "get-url", "origin"));
      } catch {
        told = undefined;
      }
      const actual = locate(path).repository;
      // git knows no remote of the name `origin` there, and we take the only one.
      assert.equal(actual, name.startsWith("subsection") ? `${shop}/x` : expected);
      assert.equal(told, expected);
    });
  }

  test("a value that git wrote is read back", () => {
    const path = bareBones("written", "");
    const config = join(path, ".git", "config");
    const text = fc.string({ unit: fc.constantFrom(..."ab c\"\\#;'[]=\t"), maxLength: 12 });
    fc.assert(
      fc.property(text, text, (name, noise) => {
        writeFileSync(config, "");
        git(path, "config", "core.noise", noise);
        git(path, "config", `remote.x${name}.note`, noise);
        git(path, "config", `remote.x${name}.url`, `https://github.com/acme/x-${noise.replace(/\W/g, "")}`);
        assert.equal(locate(path).repository, `github.com/acme/x-${noise.replace(/\W/g, "")}`);
      }),
      { numRuns: 15 },
    );
  });
});

describe("repositoryOf", () => {
  const known = [
    ["https://github.com/Acme/Shop.git", "github.com/acme/shop"],
    ["http://github.com/acme/shop/", "github.com/acme/shop"],
    ["https://github.com/acme/shop.git/", "github.com/acme/shop"],
    ["https://user:secret@GitHub.com:8443//acme//shop", "github.com/acme/shop"],
    ["https://ghp_secret@github.com/acme/shop.js", "github.com/acme/shop.js"],
    ["https://me@corp.com:se@cret@github.com/acme/shop", "github.com/acme/shop"],
    ["https://org@dev.azure.com/org/My%20Project/_git/repo", "dev.azure.com/org/my%20project/_git/repo"],
    ["ssh://git@github.com:22/acme/shop.git", "github.com/acme/shop"],
    ["ssh://git@[::1]:22/acme/shop", "[::1]/acme/shop"],
    ["git://git.kernel.org/pub/scm/git/git.git", "git.kernel.org/pub/scm/git/git"],
    ["git+ssh://git@gitlab.com/group/sub/name.git", "gitlab.com/group/sub/name"],
    ["git@gitlab.com:group/sub/deeper/name.git", "gitlab.com/group/sub/deeper/name"],
    ["git@github.com:/acme/shop", "github.com/acme/shop"],
    ["work:acme/shop", "work/acme/shop"],
    ["git@git.sr.ht:~acme/shop", "git.sr.ht/~acme/shop"],
    ["git@[::1]:acme/shop", "[::1]/acme/shop"],
    ["git@x:acme/.github", "x/acme/.github"],
  ] as const;
  const unknown = [
    "",
    "/srv/git/acme/shop.git",
    "../acme/shop.git",
    "./odd:name/acme/shop",
    "acme/shop",
    "github.com/acme/shop",
    "file:///srv/git/acme/shop.git",
    "C:\\work\\acme\\shop",
    "C:/work/acme/shop",
    "c:acme/shop",
    "\\\\server\\acme\\shop",
    "https://github.com/shop.git",
    "https://github.com/acme/.git",
    "https://github.com/",
    "https://github.com",
    "https:///acme/shop",
    "git@github.com:shop.git",
    "ssh://git@github.com:acme/shop",
    "https://github.com/acme/../shop",
    "https://github.com/acme/sh op",
    "https://github.com/acme/sh\u202eop",
    "git@host:work\\acme/shop",
    "ext::sh -c acme/shop",
    "hg::https://user:secret@host/acme/shop",
  ];

  test("names the host and the whole path", () => {
    for (const [url, expected] of known) assert.equal(repositoryOf(url), expected, url);
  });

  test("names nothing that is not on a host or has no owner", () => {
    for (const url of unknown) assert.equal(repositoryOf(url), undefined, url);
  });

  test("lets no credentials through, wherever they are", () => {
    const urls = [
      "https://user:secret@github.com/acme/shop",
      "https://secret@github.com/acme/shop",
      "https://user:sec@secret@github.com/acme/shop",
      "https://user:1/secret@github.com/acme/shop",
      "https://user/secret@github.com/acme/shop",
      "https://github.com/acme/shop?access_token=secret",
      "https://github.com/acme/shop.git#secret",
      "https://github.com/acme?x=/secret",
      "user:secret@github.com:acme/shop",
      "user:a/secret@github.com:acme/shop",
      "user:secret@github.com/acme/shop",
      "https://github.com/user:secret/acme/shop",
    ];
    for (const url of urls) assert.doesNotMatch(repositoryOf(url) ?? "", /secret/, url);
    const word = fc.string({ unit: fc.constantFrom(..."aZ0:@.+%?#[]-"), maxLength: 8 });
    fc.assert(
      fc.property(word, word, fc.constantFrom("https://", "ssh://", "git+ssh://"), (user, more, scheme) => {
        const url = `${scheme}${user}secret${more}@github.com/acme/shop`;
        assert.equal(repositoryOf(url), "github.com/acme/shop", url);
      }),
    );
  });

  test("makes a host and two or more names in lower case of any text, or nothing", () => {
    const text = fc.oneof(fc.string(), fc.string({ unit: fc.constantFrom(..."aB:/@.[]\\?#") }));
    fc.assert(
      fc.property(text, fc.constantFrom("", "https://", "git@"), (rest, start) => {
        const found = repositoryOf(start + rest);
        if (found !== undefined) assert.match(found, /^[^/@\sA-Z]+(\/[^/@:\sA-Z]+){2,}$/);
      }),
      { numRuns: 1000 },
    );
  });

  test("agrees with what locate finds for the URL that git stored", () => {
    const path = repo("agree", "x");
    for (const url of [...known.map(([url]) => url), ...unknown.filter((url) => url !== "")]) {
      git(path, "remote", "set-url", "origin", url);
      assert.equal(locate(path).repository, repositoryOf(git(path, "remote", "get-url", "origin")), url);
    }
  });
});

describe("sameRepository", () => {
  const cases: [a: string, b: string, same: boolean][] = [
    ["github.com/acme/shop", "github.com/acme/shop", true],
    ["GitHub.com/Acme/Shop", "github.com/acme/shop", true],
    ["github.com/acme/shop.git", "/github.com/acme/shop/", true],
    ["github.com/acme/shop", "gitlab.com/acme/shop", false],
    ["acme/shop", "github.com/acme/shop", true],
    ["Acme/Shop.git/", "gitlab.com/acme/shop", true],
    ["acme/shop", "acme/shop", true],
    ["acme/shop", "acme/other", false],
    ["acme/shop", "github.com/other/shop", false],
    // A dot does not make an owner a host: two segments are never enough for a host and a repository.
    ["acme.io/shop", "github.com/acme.io/shop", true],
    ["github.com/acme", "github.com/acme/shop", false],
    ["sub/name", "gitlab.com/group/sub/name", false],
    ["group/sub/name", "gitlab.com/group/sub/name", false],
    ["gitlab.com/group/sub/name", "gitlab.com/group/sub/name", true],
    ["localhost/acme/shop", "acme/shop", true],
    ["shop", "shop", false],
    ["shop", "acme/shop", false],
    ["", "", false],
  ];

  test("compares by segment, whatever the order", () => {
    for (const [a, b, same] of cases) {
      assert.equal(sameRepository(a, b), same, `${a} and ${b}`);
      assert.equal(sameRepository(b, a), same, `${b} and ${a}`);
    }
  });
});

describe("isWithin", () => {
  const cases: [path: string, ancestor: string, within: boolean][] = [
    ["/a/b", "/a/b", true],
    ["/a/b/c", "/a/b", true],
    ["/a/b/c/d", "/a/b/", true],
    ["/a/b/", "/a/b", true],
    ["/a/bc", "/a/b", false],
    ["/a", "/a/b", false],
    ["/", "/a", false],
    ["/a", "/", true],
    ["/", "/", true],
    ["/a/b/..c", "/a/b", true],
    ["/A/b", "/a", false],
  ];

  test("compares by path segment", () => {
    for (const [path, ancestor, within] of cases) {
      assert.equal(isWithin(path, ancestor), within, `${path} in ${ancestor}`);
    }
    assert.ok(isWithin(root, dirname(root)));
  });
});
