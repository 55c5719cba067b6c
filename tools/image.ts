// Builds out/mooring-VERSION-oci.tar, a container image for linux/amd64 and linux/arm64: `npm run
// image`. Nothing of the images runs. The file is an OCI image layout (Image Format Specification
// 1.1), and has the list of images that Docker reads (`docker load`).
import { hash } from "node:crypto";
import {
  chmodSync,
  copyFileSync,
  globSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { basename, join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { gzipSync } from "node:zlib";
import { addProgram } from "./package/archive.ts";
import { type Architecture, debianFiles, gccLicence } from "./package/debian.ts";
import { type PlatformName, platforms } from "./package/platform.ts";
import { makeProgram } from "./package/program.ts";
import { readManifest, root, writeTar } from "./package/step.ts";

/** The user of the service, without rights, and without a name on the host. */
const USER = "65532";

/** Libraries of Node and of better-sqlite3, by Debian package; the loader is at its fixed path. */
const LIBRARIES = {
  libc6: [
    "libc.so.6",
    "libdl.so.2",
    "libm.so.6",
    "libnss_dns.so.2",
    "libnss_files.so.2",
    "libpthread.so.0",
    "libresolv.so.2",
    "librt.so.1",
  ],
  "libgcc-s1": ["libgcc_s.so.1"],
  "libstdc++6": ["libstdc++.so.6"],
} as const;

interface Target {
  readonly architecture: Architecture;
  readonly platform: PlatformName;
  /** Path of the loader, which is part of every program. */
  readonly loader: string;
  /** Folder of libraries in Debian. */
  readonly libraries: string;
}

const TARGETS: readonly Target[] = [
  {
    architecture: "amd64",
    platform: "linux-x64",
    loader: "lib64/ld-linux-x86-64.so.2",
    libraries: "usr/lib/x86_64-linux-gnu",
  },
  {
    architecture: "arm64",
    platform: "linux-arm64",
    loader: "lib/ld-linux-aarch64.so.1",
    libraries: "usr/lib/aarch64-linux-gnu",
  },
];

/**
 * Small files of the image. The command is a program of Node, because the image has no shell; V8
 * reads its flag only at the start (src/app/memory-settings.ts).
 */
const FILES: Readonly<Record<string, string>> = {
  "etc/passwd": `mooring:x:${USER}:${USER}:Mooring:/data:/usr/sbin/nologin\n`,
  "etc/group": `mooring:x:${USER}:\n`,
  "etc/nsswitch.conf": "hosts: files dns\n",
  "usr/local/bin/mooring":
    '#!/opt/mooring/bin/node --min-semi-space-size=2\nimport("/opt/mooring/lib/src/main.js");\n',
};

const SECOND = 1_000_000_000;

const { positionals } = parseArgs({ allowPositionals: true });
const out = resolve(positionals[0] ?? join(root, "out"));
const { name, version, description, license } = readManifest(root);
const layout = join(out, "image");
const blobs = join(layout, "blobs/sha256");

/** Reference to a blob (Image Format Specification, "Content Descriptors"). */
interface Descriptor {
  readonly mediaType: string;
  readonly digest: string;
  readonly size: number;
}

makeImage();

function makeImage(): void {
  rmSync(layout, { recursive: true, force: true });
  mkdirSync(blobs, { recursive: true });
  const program = join(out, "image-program");
  rmSync(program, { recursive: true, force: true });
  makeProgram(program);
  const images = TARGETS.map((target) => addImage(target, program));
  rmSync(program, { recursive: true });
  const mediaType = "application/vnd.oci.image.index.v1+json";
  const manifests = images.map(({ manifest, architecture }) => ({
    ...manifest,
    platform: { architecture, os: "linux" },
  }));
  const index = addJson(mediaType, { schemaVersion: 2, mediaType, manifests });
  const named = [
    { ...index, annotations: nameOf("") },
    ...manifests.map((one) => ({ ...one, annotations: nameOf(`-${one.platform.architecture}`) })),
  ];
  writeJson("index.json", { schemaVersion: 2, mediaType, manifests: named });
  writeJson("oci-layout", { imageLayoutVersion: "1.0.0" });
  // Docker without the image store of containerd reads only this list.
  writeJson(
    "manifest.json",
    images.map(({ architecture, config, layers }) => ({
      Config: pathOf(config),
      RepoTags: [`${name}:${version}-${architecture}`],
      Layers: layers.map(pathOf),
    })),
  );
  writeTar(join(out, `${name}-${version}-oci.tar`), { folder: layout, paths: ["."] });
  rmSync(layout, { recursive: true });
}

/** Names by which tools find an image in the layout, and by which containerd imports it. */
function nameOf(suffix: string): Readonly<Record<string, string>> {
  return {
    "org.opencontainers.image.ref.name": `${version}${suffix}`,
    "io.containerd.image.name": `docker.io/library/${name}:${version}${suffix}`,
  };
}

/** The image of one architecture. Its layers begin with what changes least. */
function addImage(target: Target, program: string) {
  const { architecture, platform } = target;
  const folder = join(out, `image-${architecture}`);
  rmSync(folder, { recursive: true, force: true });
  const system = join(folder, "system");
  const own = join(folder, "program");
  const data = join(folder, "data");
  addSystem(system, target);
  addProgram(join(own, "opt/mooring"), platforms[platform], program);
  for (const part of ["bin/libatomic.so.1", "bin/LICENSE.libatomic"])
    rmSync(join(own, "opt/mooring", part));
  mkdirSync(join(system, "opt/mooring"), { recursive: true });
  renameSync(join(own, "opt/mooring/bin"), join(system, "opt/mooring/bin"));
  copyFileSync(join(root, "LICENSE"), join(own, "opt/mooring/LICENSE"));
  mkdirSync(join(data, "data"), { recursive: true });
  chmodSync(join(data, "data"), 0o700);
  const layers = [addLayer(system, "0"), addLayer(own, "0"), addLayer(data, USER)];
  rmSync(folder, { recursive: true });
  const config = addJson("application/vnd.oci.image.config.v1+json", {
    architecture,
    os: "linux",
    config: runtime(),
    rootfs: { type: "layers", diff_ids: layers.map(({ content }) => content) },
    history: layers.map(({ label }) => ({ created_by: label })),
  });
  const descriptors = layers.map(({ descriptor }) => descriptor);
  const manifest = addJson("application/vnd.oci.image.manifest.v1+json", {
    schemaVersion: 2,
    mediaType: "application/vnd.oci.image.manifest.v1+json",
    config,
    layers: descriptors,
  });
  return { architecture, manifest, config, layers: descriptors };
}

/** How the image runs. `Healthcheck` is Docker's; other runtimes ignore it. */
function runtime(): object {
  return {
    User: `${USER}:${USER}`,
    WorkingDir: "/data",
    Entrypoint: ["/usr/local/bin/mooring"],
    Cmd: ["serve"],
    Env: [
      "PATH=/usr/local/bin",
      "HOME=/data",
      "MOORING_LISTEN=:5244",
      "MOORING_DATA_DIR=/data",
      "MOORING_LOG_FORMAT=json",
      // Compiled code, which halves the time of later starts.
      "NODE_COMPILE_CACHE=/data/.cache",
      // glibc returns what a flood of requests has taken (mallopt(3), M_TRIM_THRESHOLD).
      "MALLOC_TRIM_THRESHOLD_=131072",
      "MALLOC_MMAP_THRESHOLD_=32768",
    ],
    ExposedPorts: { "5244/tcp": {} },
    Volumes: { "/data": {} },
    StopSignal: "SIGTERM",
    Healthcheck: {
      Test: ["CMD", "/usr/local/bin/mooring", "health"],
      Interval: 30 * SECOND,
      Timeout: 10 * SECOND,
      StartPeriod: 30 * SECOND,
      Retries: 3,
    },
    Labels: {
      "org.opencontainers.image.title": "Mooring",
      "org.opencontainers.image.description": description,
      "org.opencontainers.image.version": version,
      "org.opencontainers.image.licenses": license,
    },
  };
}

/** The libraries that Node needs, of Debian, and the small files. */
function addSystem(folder: string, { architecture, loader, libraries }: Target): void {
  const debian = debianFiles(architecture, [...Object.keys(LIBRARIES), "libatomic1"]);
  const copy = (file: string, to: string): void => {
    const [found] = globSync(`**/${file}`, { cwd: debian });
    if (found === undefined) throw new Error(`Debian's packages have no ${file}`);
    mkdirSync(join(folder, to, ".."), { recursive: true });
    copyFileSync(realpathSync(join(debian, found)), join(folder, to));
  };
  copy(basename(loader), loader);
  chmodSync(join(folder, loader), 0o755);
  for (const file of [...Object.values(LIBRARIES).flat(), "libatomic.so.1"])
    copy(file, join(libraries, file));
  copy("doc/libc6/copyright", "usr/share/doc/libc6/copyright");
  for (const [path, text] of Object.entries({
    ...FILES,
    "usr/share/doc/gcc/copyright": gccLicence("libgcc_s.so.1, libstdc++.so.6, libatomic.so.1"),
  })) {
    mkdirSync(join(folder, path, ".."), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  chmodSync(join(folder, "usr/local/bin/mooring"), 0o755);
  for (const mounted of ["dev", "proc", "sys", "tmp"]) mkdirSync(join(folder, mounted));
  chmodSync(join(folder, "tmp"), 0o1777);
}

/** Adds the files of a folder as a layer. @param owner user and group of all its files. */
function addLayer(folder: string, owner: string) {
  const file = `${folder}.tar`;
  writeTar(file, { folder, paths: globSync("*", { cwd: folder }), owner });
  const bytes = readFileSync(file);
  rmSync(file);
  const content = `sha256:${hash("sha256", bytes)}`;
  const packed = gzipSync(bytes, { level: 9 });
  const descriptor = addBlob("application/vnd.oci.image.layer.v1.tar+gzip", packed);
  return { descriptor, content, label: basename(folder) };
}

function addJson(mediaType: string, value: object): Descriptor {
  return addBlob(mediaType, Buffer.from(JSON.stringify(value)));
}

function addBlob(mediaType: string, bytes: Buffer): Descriptor {
  const digest = hash("sha256", bytes);
  writeFileSync(join(blobs, digest), bytes);
  return { mediaType, digest: `sha256:${digest}`, size: statSync(join(blobs, digest)).size };
}

function pathOf({ digest }: Descriptor): string {
  return `blobs/${digest.replace(":", "/")}`;
}

function writeJson(file: string, value: object): void {
  writeFileSync(join(layout, file), JSON.stringify(value));
}
