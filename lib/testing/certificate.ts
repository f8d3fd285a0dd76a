import { generateKeyPairSync, randomBytes, sign } from "node:crypto";

/** A self-signed certificate for 127.0.0.1 and its key, as a TLS server takes them; both times in milliseconds since 1970. */
export function certificate(
  from: number,
  until: number,
  address = [127, 0, 0, 1],
): { cert: string; key: string } {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const name = sequence(set(sequence(COMMON_NAME, der(0x0c, Buffer.from("ambient-signals test")))));
  const algorithm = sequence(ECDSA_WITH_SHA256);
  // Of the addresses that it is for, one IP address, behind the number of that extension.
  const names = sequence(SUBJECT_ALT_NAME, der(0x04, sequence(der(0x87, Buffer.from(address)))));
  const isAuthority = sequence(BASIC_CONSTRAINTS, der(0x04, sequence(der(0x01, Buffer.from([0xff])))));
  const body = sequence(
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, Buffer.concat([Buffer.from([1]), randomBytes(8)])),
    algorithm,
    name,
    sequence(instant(from), instant(until)),
    name,
    publicKey.export({ type: "spki", format: "der" }),
    der(0xa3, sequence(names, isAuthority)),
  );
  const signature = der(0x03, Buffer.concat([Buffer.from([0]), sign("sha256", body, privateKey)]));
  const text = sequence(body, algorithm, signature).toString("base64").replace(/.{64}/g, "$&\n");
  return {
    cert: `-----BEGIN CERTIFICATE-----\n${text}\n-----END CERTIFICATE-----\n`,
    key: privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
  };
}

/** One value of ASN.1 in its distinguished encoding: what it is, how long, and its bytes. */
function der(tag: number, content: Buffer): Buffer {
  const { length } = content;
  const size = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...size]), content]);
}

function sequence(...parts: Buffer[]): Buffer {
  return der(0x30, Buffer.concat(parts));
}

function set(...parts: Buffer[]): Buffer {
  return der(0x31, Buffer.concat(parts));
}

function instant(ms: number): Buffer {
  const digits = new Date(ms).toISOString().replace(/\.\d+|[-:T]/g, "");
  return der(0x18, Buffer.from(digits));
}

const identifier = (...bytes: number[]) => der(0x06, Buffer.from(bytes));
const COMMON_NAME = identifier(0x55, 0x04, 0x03);
const SUBJECT_ALT_NAME = identifier(0x55, 0x1d, 0x11);
const BASIC_CONSTRAINTS = identifier(0x55, 0x1d, 0x13);
const ECDSA_WITH_SHA256 = identifier(0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02);
