// Reads the public settings, saves one unless it has changed since, and prints the error of another.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"
	"os"

	"connectrpc.com/connect"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/protobuf/proto"

	mooring "harbour/gen/mooring/v1"
	"harbour/gen/mooring/v1/mooringv1connect"
)

func main() {
	url, ctx := os.Getenv("MOORING_URL"), context.Background()
	public := mooringv1connect.NewPublicServiceClient(http.DefaultClient, url)
	seen := must(public.GetPublicSettings(ctx, connect.NewRequest(&mooring.GetPublicSettingsRequest{})))
	fmt.Println("title:", seen.Msg.Settings["site_title"])

	save := func(message *mooring.SaveSettingsRequest) (*connect.Response[mooring.SaveSettingsResponse], error) {
		request := connect.NewRequest(message)
		request.Header().Set("Authorization", os.Getenv("MOORING_TOKEN"))
		return mooringv1connect.NewSettingServiceClient(http.DefaultClient, url).SaveSettings(ctx, request)
	}
	title := &mooring.SettingInput{Key: "site_title", Value: proto.String(fmt.Sprint("Harbour ", os.Getpid()))}
	saved := must(save(&mooring.SaveSettingsRequest{
		Settings: []*mooring.SettingInput{title}, ExpectedEtag: &seen.Msg.Etag}))
	fmt.Println("saved at revision:", saved.Msg.Revision)

	wrong := &mooring.SettingInput{Key: "default_page_size", Value: proto.String("many")}
	_, err := save(&mooring.SaveSettingsRequest{Settings: []*mooring.SettingInput{wrong}})
	if refused := new(connect.Error); errors.As(err, &refused) {
		for _, detail := range refused.Details() {
			if request, ok := must(detail.Value()).(*errdetails.BadRequest); ok {
				fmt.Println("refused:", request.FieldViolations[0].Field)
			}
		}
	}
}

func must[T any](value T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return value
}
