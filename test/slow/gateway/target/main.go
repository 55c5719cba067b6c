// A gRPC server of the contract in a file of descriptors, whose path is the argument: rpcs Get, Read
// (server stream) and Send (client stream) of messages Thing and Box. Writes its address on the first
// line of its output, and a line for each call that is canceled.
package main

import (
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"path"
	"strings"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
)

type server struct {
	method map[string]protoreflect.MethodDescriptor
}

func text(message *dynamicpb.Message, name protoreflect.Name) string {
	return message.Get(message.Descriptor().Fields().ByName(name)).String()
}

func (s *server) send(stream grpc.ServerStream, method protoreflect.MethodDescriptor, word string) error {
	reply := dynamicpb.NewMessage(method.Output())
	reply.Set(method.Output().Fields().ByName("word"), protoreflect.ValueOfString(word))
	return stream.SendMsg(reply)
}

func failure() error {
	violation := &errdetails.BadRequest_FieldViolation{Field: "text", Description: "is not suitable"}
	detail := &errdetails.BadRequest{FieldViolations: []*errdetails.BadRequest_FieldViolation{violation}}
	failed, err := status.New(codes.InvalidArgument, "it failed: grün").WithDetails(detail)
	if err != nil {
		log.Fatal(err)
	}
	return failed.Err()
}

func wait(stream grpc.ServerStream, name string) error {
	<-stream.Context().Done()
	fmt.Println("canceled", name)
	return status.FromContextError(stream.Context().Err()).Err()
}

func (s *server) handle(_ any, stream grpc.ServerStream) error {
	full, _ := grpc.MethodFromServerStream(stream)
	method, known := s.method[full]
	if !known {
		return status.Error(codes.Unimplemented, full)
	}
	seen, _ := metadata.FromIncomingContext(stream.Context())
	header := metadata.Pairs("x-reply", strings.Join(seen.Get("x-own"), "|"), "x-bytes-bin", "\x00\xff")
	if deadline, has := stream.Context().Deadline(); has {
		header.Set("x-time-left", fmt.Sprint(time.Until(deadline).Milliseconds()))
	}
	for name := range seen {
		header.Append("x-names", name)
	}
	if err := stream.SetHeader(header); err != nil {
		return err
	}
	stream.SetTrailer(metadata.Pairs("x-end", "tail"))
	name := path.Base(full)
	words := []string{}
	for {
		request := dynamicpb.NewMessage(method.Input())
		if err := stream.RecvMsg(request); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return err
		}
		words = append(words, text(request, "text"))
		if name != "Send" {
			break
		}
	}
	word := strings.Join(words, " ")
	if name != "Read" {
		switch word {
		case "fail":
			return failure()
		case "wait":
			return wait(stream, name)
		}
		return s.send(stream, method, word)
	}
	for _, one := range []string{"a", "b"} {
		if err := s.send(stream, method, one); err != nil {
			return err
		}
		switch word {
		case "fail":
			return failure()
		case "wait":
			return wait(stream, name)
		}
	}
	return nil
}

func main() {
	encoded, err := os.ReadFile(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	set := &descriptorpb.FileDescriptorSet{}
	if err := proto.Unmarshal(encoded, set); err != nil {
		log.Fatal(err)
	}
	files, err := protodesc.NewFiles(set)
	if err != nil {
		log.Fatal(err)
	}
	s := &server{method: map[string]protoreflect.MethodDescriptor{}}
	files.RangeFiles(func(file protoreflect.FileDescriptor) bool {
		for i := range file.Services().Len() {
			service := file.Services().Get(i)
			for j := range service.Methods().Len() {
				method := service.Methods().Get(j)
				s.method[fmt.Sprintf("/%s/%s", service.FullName(), method.Name())] = method
			}
		}
		return true
	})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(listener.Addr())
	log.Fatal(grpc.NewServer(grpc.UnknownServiceHandler(s.handle)).Serve(listener))
}
