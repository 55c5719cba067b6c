import { type DescFile, toBinary } from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";
import type { Server } from "@grpc/grpc-js";
import { ReflectionService } from "@grpc/reflection";
import type { Method } from "../method.ts";

/** Adds server reflection, v1 and v1alpha, for the services of these methods. */
export function addReflection(server: Server, methods: readonly Method[]): void {
  const services = new Set(methods.map((method) => method.desc.parent));
  const files = new Set<DescFile>();
  for (const service of services) collect(service.file, files);
  const fileDescriptorProtos = [...files].map((file) =>
    Buffer.from(toBinary(FileDescriptorProtoSchema, file.proto)),
  );
  // What proto-loader would make of .proto files, as far as the library reads it.
  const definition = { files: { format: "", type: {}, fileDescriptorProtos } };
  const reflection = new ReflectionService(
    definition as unknown as ConstructorParameters<typeof ReflectionService>[0],
    { services: [...services].map((service) => service.typeName) },
  );
  reflection.addToServer(server);
}

function collect(file: DescFile, files: Set<DescFile>): void {
  if (files.has(file)) return;
  files.add(file);
  for (const dependency of file.dependencies) collect(dependency, files);
}
